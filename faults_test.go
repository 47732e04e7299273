package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskrun/cmd/report/recording"
	"taskrun/drivers/docker/dockertest"
)

// A difference is an intended difference in a case, with its reason. Case and
// path are regular expressions for the complete text.
type difference struct{ name, path, why string }

// declared lists the intended differences; README.md describes them for users.
var declared = []difference{
	{`env-all`, `allocs/.*/tasks/tsk-one/stdout`, "references within meta and to cleaned names, and the version, are better"},
	{`env-all|identity-files|up-healthy-deadline`, `registered`, "warnings are clearer, and there are more of them"},
	{`restart-dead-task`, `cli/[45]/.*|job_status|allocs/.*/(desired|status|tasks/b/.*)`, "an unknown signal is an error; Nomad sends SIGINT, which ends the task"},
	{`r-system-fail`, `job_status`, "a run ends once nothing of it can run any more"},
	{`d-signal-.*`, `allocs/.*/healthy`, "whether Nomad looks once more after the last task has ended is chance"},
	{`up-inplace`, `allocs/.*/tasks/a/events`, "Nomad lost the executor while it killed the task"},
	{`act-basic|d-signal-restart-exec`, `cli/4/.*|cli/3/.*`, "a command that does not exist has the exit code of a shell"},
	{`d-cpu-mem-max`, `allocs/.*/stdout`, "its quota is a part of the machine's speed"},
	{`.*`, `allocs/.*/(files|owners)/.*/executor\.out`, "there is no process of an executor that writes it"},
	{`.*`, `allocs/.*/(files|owners)/.*/\.nomad-mount`, "no file system is mounted for the directory"},
	{`.*`, `allocs/.*/(files|owners)/.*/(secrets|private)(/.*)?`, "secrets are deleted when the allocation ends"},
	{`.*`, `allocs/.*/(owners/.*|files/[^/]+(/(data|local|logs|tmp))?)`, "directories belong to the task's user or to the user that taskrun runs as, and no other user can write to them"},
	{`.*`, `allocs/.*/(files|owners)/alloc/logs/\..*\.fifo`, "the pipes of the output are where no task can reach them"},
}

func matching(list []difference, name, path string) *difference {
	for i, d := range list {
		if matchesWhole(d.name, name) && matchesWhole(d.path, path) {
			return &list[i]
		}
	}
	return nil
}

func matchesWhole(pattern, s string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s)
}

// needEngine skips a case without a Docker engine, or with one of another kind
// than Nomad had.
func needEngine(t *testing.T, name string) {
	t.Helper()
	dockertest.Need(t)
	if v := dockertest.CgroupVersion(t); v != "1" && (name == "d-cpu-mem-max" || name == "d-limits") {
		t.Skipf("docker: the job of this recording reads files of cgroups version 1, and the engine has version %s", v)
	}
}

// TestActionsMatchNomad runs each recorded job with the actions of its
// recording, and compares everything that was recorded.
func TestActionsMatchNomad(t *testing.T) {
	t.Parallel()
	jobs, err := filepath.Glob("testdata/faults/expected/*.json")
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no recordings found: %v", err)
	}
	owner := fmt.Sprintf(" %d %d ", os.Geteuid(), os.Getegid()) // of files that a task writes
	actions := readJSON[map[string]map[string][][2]any](t, "testdata/faults/actions.json")["actions"]
	for _, expected := range jobs {
		name := strings.TrimSuffix(filepath.Base(expected), ".json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(name, "d-") {
				needEngine(t, name)
			}
			if _, err := exec.LookPath("python3"); err != nil && name == "task-api" {
				t.Skip("the job of this recording needs python3")
			}
			if name == "identity-nobody" && os.Geteuid() != 0 {
				t.Skip("the job of this recording runs as another user, which takes root")
			}
			replay(t, func() ([]recording.Alloc, []string, bool) {
				want := readJSON[recording.Recording](t, expected)
				got, late := play(t, name, actions[name], want)
				if name == "identity-files" { // its job prints owners
					for _, a := range got.Allocs {
						t := a.Tasks["t"]
						t.Stdout = strings.ReplaceAll(t.Stdout, owner, " 0 0 ")
						a.Tasks["t"] = t
					}
				}
				var differences []string
				for _, d := range recording.Compare(want, got, os.Geteuid() == 0) {
					if matching(declared, name, d.Path) == nil {
						differences = append(differences, d.String())
					}
				}
				return got.Allocs, differences, late
			})
		})
	}
}
