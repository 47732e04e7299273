package rawexec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The value applies to the command and to its children so far.
func TestOOMScoreAdj(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "oom_score_adj = 567\n"+shell("sleep 1000 & echo ready $!; exec sleep 1000")).start()
	if err := f.output.Await(f.ctx, "\n"); err != nil {
		t.Fatal(err)
	}
	child := strings.Fields(f.output.Stdout())[1]
	for _, pid := range []string{fmt.Sprint(f.pid()), child} {
		data, err := os.ReadFile(filepath.Join("/proc", pid, "oom_score_adj"))
		if err != nil || strings.TrimSpace(string(data)) != "567" {
			t.Errorf("process %s has %q: %v", pid, data, err)
		}
	}
}

// A cgroup that cannot be joined is an error before the start.
func TestCgroupErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for config, want := range map[string]string{
		`cgroup_v2_override = "no/such/group"`:                      `cannot join cgroup "/sys/fs/cgroup/no/such/group": no such file or directory`,
		fmt.Sprintf("cgroup_v2_override = %q", dir):                 fmt.Sprintf(`cannot join cgroup %q: it is not in the cgroup v2 hierarchy`, dir),
		`cgroup_v1_override = [{ memory = "no/such/group" }]`:       `cannot join cgroup "/sys/fs/cgroup/memory/no/such/group": no such file or directory`,
		fmt.Sprintf("cgroup_v1_override = [{ freezer = %q }]", dir): fmt.Sprintf(`cannot join cgroup %q: no such file or directory`, dir),
	} {
		t.Run(config, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, config+"\n"+shell("echo started"))
			f.mustFail("failed to launch command with executor: ", want)
			if got := f.stdout(); got != "" {
				t.Errorf("the command was started: %q", got)
			}
		})
	}
}

// The value applies before the command's first instruction.
func TestOOMScoreAdjOfTheCommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "oom_score_adj = 500\ncommand = \"/bin/cat\"\nargs = [\"/proc/self/oom_score_adj\"]\n").start()
	f.result()
	if got := f.stdout(); got != "500\n" {
		t.Errorf("the command saw %q", got)
	}
}
