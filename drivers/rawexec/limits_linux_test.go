package rawexec_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"taskrun/drivers"
)

// enforced returns a fixture whose driver enforces limits, if this machine
// allows it.
func enforced(t *testing.T, config string) *fixture {
	t.Helper()
	f := newFixture(t, config)
	if err := f.driver.EnforceMemory(); err != nil {
		t.Skip(err)
	}
	f.cfg.Resources = drivers.Resources{CPU: 100, MemoryMB: 20}
	return f
}

// eat uses 100 MB in a child that the kernel kills before the shell: memory of a
// killed process may be free so late that the kernel chooses another one, too.
const eat = "(echo 1000 >/proc/self/oom_score_adj; head -c 100000000 /dev/zero | tail -c 100000000 | wc -c)"

func TestOOMKilled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		max    int // MiB
		code   int
		oom    bool
	}{
		"the task itself":        {script: "exec tail /dev/zero", code: 137, oom: true},
		"a child":                {script: eat + "; exit 5", code: 5, oom: true},
		"a child, which is fine": {script: eat + "; exit 0", code: 0},
		"within its limit":       {script: "exit 6", code: 6},
		"memory_max is higher":   {script: eat + " >/dev/null; exit 7", max: 400, code: 7},
		"memory_max is none":     {script: eat + " >/dev/null; exit 8", max: -1, code: 8},
		"killed otherwise":       {script: "kill -9 $$", code: 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := enforced(t, shell(tt.script))
			f.cfg.Resources.MemoryMaxMB = tt.max
			if r := f.start().result(); r.ExitCode != tt.code || r.OOMKilled != tt.oom {
				t.Errorf("the result is %+v", r)
			}
		})
	}
}

// groups returns the lines of /proc/PID/cgroup with a group of taskrun.
func groups(t *testing.T, pid any) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%v/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "taskrun-run-") {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "")
}

// Everything started by a task, and commands in it, are in its group, which is
// removed with the task.
func TestGroup(t *testing.T) {
	t.Parallel()
	f := enforced(t, shell("sleep 1000 & echo child $!; echo ready; exec sleep 1000")).ready()
	want := groups(t, f.pid())
	if !strings.Contains(want, strings.ReplaceAll(f.cfg.ID, "/", ".")) {
		t.Fatalf("the task is in %q", want)
	}
	if got := groups(t, number(t, f.output.Stdout(), "child ")); got != want {
		t.Errorf("a child is in %q", got)
	}
	for _, tty := range []bool{false, true} {
		said := newSaid()
		result, err := f.driver.ExecTaskStreaming(f.ctx, f.cfg.ID, &drivers.ExecOptions{
			Command: []string{"cat", "/proc/self/cgroup"}, Tty: tty, Stdin: strings.NewReader(""), Stdout: said, Stderr: said,
		})
		if got := strings.ReplaceAll(said.String(), "\r", ""); err != nil || result.ExitCode != 0 || !strings.Contains(got, strings.Split(want, "\n")[0]) {
			t.Errorf("a command is in %q: %+v, %v", got, result, err)
		}
	}
	if err := f.driver.DestroyTask(f.cfg.ID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.driver.Shutdown(f.ctx); err != nil {
		t.Error(err)
	}
}

// The group finds processes without any other evidence of the task.
func TestGroupFindsHiddenProcesses(t *testing.T) {
	t.Parallel()
	f := enforced(t, shell("(setsid env -i /bin/sleep 1000 &); echo ready; exec sleep 1000")).ready()
	samples, err := f.driver.TaskStats(f.ctx, f.cfg.ID, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for u := range samples {
		if u.Processes == 2 { // it has left its parents
			break
		}
	}
	if err := f.driver.StopTask(f.ctx, f.cfg.ID, patience, "SIGTERM"); err != nil {
		t.Fatal(err)
	}
	if err := f.driver.DestroyTask(f.cfg.ID, false); err != nil {
		t.Fatal(err)
	}
	f.stdout() // no process has it open
}

func TestNoGroupWithoutALimitToEnforce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, shell(sleeper))
	f.cfg.Resources = drivers.Resources{MemoryMB: 20}
	if f.ready(); groups(t, f.pid()) != "" || f.driver.EnforcesMemory() {
		t.Errorf("the task is in %q", groups(t, f.pid()))
	}
	f = enforced(t, shell(sleeper))
	f.cfg.Resources = drivers.Resources{}
	if f.ready(); groups(t, f.pid()) != "" || !f.driver.EnforcesMemory() {
		t.Errorf("the task is in %q", groups(t, f.pid()))
	}
}

// A failed start leaves no group behind; the end of the fixture checks that the
// driver could remove its tree.
func TestNoGroupAfterAFailedStart(t *testing.T) {
	t.Parallel()
	f := enforced(t, `command = "orphan"`)
	if err := os.WriteFile(f.cfg.TaskDir()+"/orphan", []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.mustFail("no such file or directory")
}
