package outcome

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

func job(id string) *api.Job {
	j := api.NewServiceJob(id, id, "global", 50)
	g := api.NewTaskGroup("g", 1)
	g.Tasks = []*api.Task{api.NewTask("t", "raw_exec")}
	j.TaskGroups = []*api.TaskGroup{g}
	j.Canonicalize()
	return j
}

func alloc(job string) *event.Alloc {
	return &event.Alloc{ID: job + "-1", Name: job + ".g[0]", Job: job, Group: "g"}
}

// fails ends a task with an exit code, and its allocation with it.
func fails(run *fold.Run, a *event.Alloc, at time.Time, code int) {
	run.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: event.TaskEvent{TaskEvent: event.Terminated(code, 0, false, nil)}})
	run.Apply(event.Event{Time: at, Alloc: a, Task: "t", Body: event.TaskState{State: "dead", Failed: true, ExitCode: &code}})
	run.Apply(event.Event{Time: at, Alloc: a, Body: event.AllocStatus{Status: "failed", Retry: -1}})
}

// unhealthy fails a check, and the deployment that waits for it.
func unhealthy(run *fold.Run, a *event.Alloc) {
	run.Apply(event.Event{Alloc: a, Body: event.AllocStatus{Status: "running", Retry: -1}})
	run.Apply(event.Event{Body: event.Deployment{ID: "d", Job: a.Job, Status: "failed"}})
	run.Apply(event.Event{Alloc: a, Body: event.Check{Service: "web", Check: "ready", Status: "failure", Output: "503\x1b"}})
}

func output(allocID, task string) []string { return []string{allocID, task} }

func TestFirstFailure(t *testing.T) {
	t.Parallel()
	failed := Result{ExitCode: 1}
	for _, c := range []struct {
		name   string
		play   func(*fold.Run)
		job    string
		result Result
		want   *Failure
		reason string
	}{
		{"nothing failed", func(*fold.Run) {}, "", Result{}, nil, "all allocations are complete"},
		{"nothing failed, and not all ran", func(*fold.Run) {}, "", failed, nil, "all allocations are complete"},
		{"the user stopped it", func(*fold.Run) {}, "", Result{Cause: "interrupt", User: true, ExitCode: 130}, nil, "interrupt"},
		{"a task, the first of two", func(run *fold.Run) {
			fails(run, alloc("b"), time.Unix(2, 0), 2)
			fails(run, alloc("a"), time.Unix(1, 0), 3)
		}, "", failed, &Failure{
			Alloc: "a.g[0]", AllocID: "a-1", Job: "a", Group: "g", Task: "t", Event: "Terminated", Message: "exit code 3", LastOutput: "a-1\nt",
		}, `task "t" of a.g[0] failed: exit code 3`},
		{"a task of another job", func(run *fold.Run) { fails(run, alloc("b"), time.Unix(2, 0), 2) }, "a", failed, nil, "all allocations are complete"},
		{"a check", func(run *fold.Run) { unhealthy(run, alloc("a")) }, "a", Result{ExitCode: 124, Cause: "the timeout has passed"}, &Failure{
			Alloc: "a.g[0]", AllocID: "a-1", Job: "a", Group: "g", Message: `check "ready" of service "web": failure`, Check: "ready", LastOutput: `503\x1b`,
			Checked: &Checked{Service: "web", Name: "ready", Status: "failure", Output: `503\x1b`},
		}, "the timeout has passed"},
		{"a check of another job", func(run *fold.Run) { unhealthy(run, alloc("a")) }, "b", failed, nil, "all allocations are complete"},
		{"a check, and the user stopped it", func(run *fold.Run) { unhealthy(run, alloc("a")) }, "", Result{ExitCode: 130, Cause: "interrupt", User: true}, nil, "interrupt"},
		{"a check and a task", func(run *fold.Run) {
			unhealthy(run, alloc("a"))
			fails(run, alloc("b"), time.Unix(1, 0), 127)
		}, "", Result{ExitCode: 1, Cause: "b.g[0] failed"}, &Failure{
			Alloc: "b.g[0]", AllocID: "b-1", Job: "b", Group: "g", Task: "t", Event: "Terminated", Message: "exit code 127", LastOutput: "b-1\nt",
			Hint:  "127 usually means: a shell did not find a command; NOMAD_TASK_DIR and PATH decide where it looks",
			Check: "ready", Checked: &Checked{Service: "web", Name: "ready", Status: "failure", Output: `503\x1b`},
		}, `task "t" of b.g[0] failed: exit code 127`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := fold.New([]*api.Job{job("a"), job("b")})
			c.play(run)
			if diff := cmp.Diff(c.want, First(run, c.job, c.result, output)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := Reason(run, c.job, c.result); got != c.reason {
				t.Errorf("reason %q, want %q", got, c.reason)
			}
		})
	}
	one := fold.New([]*api.Job{job("a")})
	if got := Reason(one, "a", failed); got != "the run ended before all allocations were complete" {
		t.Errorf("reason %q", got)
	}
}

// A verdict names up to three jobs, says how the run ended, and after how long.
func TestVerdict(t *testing.T) {
	t.Parallel()
	began := time.Unix(100, 0)
	for _, c := range []struct {
		jobs   string
		failed bool
		result Result
		want   string
	}{
		{"", false, Result{}, "job complete after 2s"},
		{"a", false, Result{}, "job a complete after 2s"},
		{"a b c", false, Result{ExitCode: 1}, "job a, b, c ended after 2s, exit code 1"},
		{"a b c d", true, Result{ExitCode: 1}, "4 jobs failed after 2s, exit code 1"},
		{"a", true, Result{ExitCode: 124, Cause: "the timeout has passed"}, "job a stopped after 2s: the timeout has passed, exit code 124"},
		{"a\x1b", false, Result{Cause: "interrupt"}, `job a\x1b stopped after 2s: interrupt`},
	} {
		var jobs []*api.Job
		for _, id := range strings.Fields(c.jobs) {
			jobs = append(jobs, job(id))
		}
		run := fold.New(jobs)
		if c.failed {
			fails(run, alloc("a"), began, 1)
		}
		c.result.Time = began.Add(2 * time.Second)
		if got := Verdict(run, began, c.result); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The reason why a task waited is different if it has run before.
func TestWaited(t *testing.T) {
	t.Parallel()
	w := fold.Wait{Task: &fold.Task{}, For: fold.PrestartEnd, Tasks: []string{"a"}}
	if got := Waited(w); got != `had not run: it waited for the end of prestart task "a"` {
		t.Error(got)
	}
	w.Task.Started = time.Unix(1, 0)
	if got := Waited(w); got != `was not running: it waited for the end of prestart task "a"` {
		t.Error(got)
	}
}

// The last output has 10 lines and 4 KiB at most.
func TestLastOutputIsLimited(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprint(i))
	}
	if got := lastPart(strings.Join(lines, "\n") + "\n"); got != strings.Join(lines[10:], "\n") {
		t.Errorf("%q", got)
	}
	if whole := strings.Repeat("x", 4<<10); lastPart(whole) != whole || lastPart("y"+whole) != whole {
		t.Error("4 KiB are not kept")
	}
	got := lastPart(strings.Repeat("日本", 4000))
	if len(got) > 4<<10 || len(got) < 4<<10-3 || !strings.HasPrefix(got, "本日") && !strings.HasPrefix(got, "日本") {
		t.Errorf("%d bytes, %q", len(got), got[:9])
	}
}
