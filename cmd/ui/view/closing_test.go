package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// The verdict names the jobs if there are few, how the run ended and, unless it
// succeeded, its exit code.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		jobs   []string
		failed bool
		result Result
		want   string
	}{
		{[]string{"a"}, false, Result{}, "✓ job a complete after 5s"},
		{[]string{"a\x1b", "b", "c"}, false, Result{}, "✓ job a\\x1b, b, c complete after 5s"},
		{[]string{"a", "b", "c", "d"}, false, Result{}, "✓ 4 jobs complete after 5s"},
		{nil, false, Result{}, "✓ job complete after 5s"},
		{[]string{"a"}, false, Result{Cause: "interrupted"}, "✓ job a stopped after 5s: interrupted"},
		{[]string{"a"}, true, Result{Cause: "interrupted", ExitCode: 130}, "✗ job a stopped after 5s: interrupted, exit code 130"},
		{[]string{"a"}, true, Result{ExitCode: 1}, "✗ job a failed after 5s, exit code 1"},
		{[]string{"a"}, false, Result{ExitCode: 2}, "✗ job a ended after 5s, exit code 2"},
		{[]string{"a"}, true, Result{}, "✓ job a complete after 5s"},
		{[]string{"a"}, false, Result{Cause: "interrupt", ExitCode: 130, User: true}, "■ job a stopped after 5s: interrupt, exit code 130"},
		{[]string{"a"}, false, Result{Cause: "a client stopped it", User: true}, "■ job a stopped after 5s: a client stopped it"},
		{[]string{"a"}, true, Result{Cause: "interrupt", ExitCode: 1, User: true}, "✗ job a stopped after 5s: interrupt, exit code 1"},
		{[]string{"a"}, false, Result{Cause: "the timeout of 1s has passed", ExitCode: 124}, "✗ job a stopped after 5s: the timeout of 1s has passed, exit code 124"},
	} {
		var jobs []*api.Job
		for _, id := range c.jobs {
			jobs = append(jobs, job(id, 1, task("t")))
		}
		s := newStage(t, 0, Options{Jobs: jobs})
		if c.failed {
			a := alloc("a", 0, "11111111")
			s.say(a, "t", event.TaskState{State: "dead", Failed: true})
			s.say(a, "", event.AllocStatus{Status: "failed", Retry: -1})
		}
		s.after(5 * time.Second).ends(c.result)
		if got := s.err.String(); !strings.Contains(got, "\n"+c.want+"\n") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The closing table of a large run lists failures and counts the rest.
func TestLargeClosingTable(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		maxRows:     "",
		maxRows + 1: fmt.Sprintf("and %d tasks that did not fail", maxRows-1),
	} {
		var tasks []*api.Task
		for i := range n {
			tasks = append(tasks, task(fmt.Sprintf("t%d", i)))
		}
		s := newStage(t, 0, Options{Jobs: []*api.Job{job("j", 1, tasks...)}})
		a, zero := alloc("j", 0, "11111111"), 0
		for i, spec := range tasks {
			if i > 0 {
				s.say(a, spec.Name, event.TaskState{State: "dead", ExitCode: &zero, Failed: i == 1})
			}
		}
		s.err.Reset()
		s.ends(Result{ExitCode: 1})
		_, table, _ := strings.Cut(s.err.String(), "TASK")
		table, _, _ = strings.Cut(table, "\n\n")
		lines := strings.Split(table, "\n")[1:]
		if want == "" && len(lines) != n {
			t.Errorf("%d tasks: %d rows", n, len(lines))
		}
		if want != "" && (len(lines) != 3 || !strings.HasPrefix(lines[0], "t0 ") || !strings.HasPrefix(lines[1], "t1 ") || lines[2] != want) {
			t.Errorf("%d tasks: %q", n, lines)
		}
	}
}

// The closing table lists allocations in the order of the job, including later
// ones, whose tasks have similar labels.
func TestClosingTableOfAGrownGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, Options{Time: ui.TimeNone, Jobs: []*api.Job{job("j", 1, task("a"))}})
	allocs := []*event.Alloc{alloc("j", 0, "11111111"), alloc("j", 2, "33333333"), alloc("j", 1, "22222222")}
	s.running(allocs[0], "a", 0)
	s.writes(allocs[0], "a", event.Stdout, "alone\n")
	for _, a := range allocs[1:] {
		s.running(a, "a", 0)
	}
	s.writes(allocs[0], "a", event.Stdout, "with others\n")
	for _, a := range allocs {
		s.dies(a, "a", 0, 0, "")
	}
	s.ends(Result{})
	if got, want := s.out.String(), "a │ alone\napp[0]/a │ with others\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	_, got, _ := strings.Cut(s.err.String(), "DURATION\n")
	for i, line := range strings.Split(got, "\n")[:3] {
		if !strings.HasPrefix(line, fmt.Sprintf("app[%d]/a  dead", i)) {
			t.Errorf("row %d is %q", i, line)
		}
	}
}

// If a deployment fails, the last screen starts with the failing check: its
// target, status and last output.
func TestLastScreenNamesTheCheck(t *testing.T) {
	t.Parallel()
	fails := event.Check{Service: "web", Check: "alive", Status: "failure", Output: "refused\n", Target: "http://127.0.0.1:1/health"}
	ready := event.Check{Service: "web", Check: "ready", Status: "pending"}
	want := "✗ check \"alive\" of service \"web\" in j.app[0], j.app[1]: failure\n" +
		"  target: http://127.0.0.1:1/health\n  last output: it was refused\n  and 1 more check did not pass\n"
	for name, c := range map[string]struct {
		deployment string
		result     Result
		want       string
	}{
		"a failed deployment":            {"failed", Result{ExitCode: 1, Cause: "c"}, want},
		"a timeout":                      {"running", Result{ExitCode: 124, Cause: "c"}, want},
		"a successful deployment":        {"successful", Result{ExitCode: 1, Cause: "c"}, ""},
		"no deployment":                  {"", Result{ExitCode: 1, Cause: "c"}, ""},
		"the user stops it":              {"running", Result{ExitCode: 130, Cause: "c", User: true}, ""},
		"all that was wanted is reached": {"running", Result{Cause: "c"}, ""},
	} {
		s := newStage(t, 0, Options{Time: ui.TimeNone, Jobs: []*api.Job{job("j", 3, task("a"))}})
		if c.deployment != "" {
			s.say(nil, "", event.Deployment{ID: "d", Job: "j", Status: c.deployment})
		}
		for i := range 3 {
			a := alloc("j", i, strings.Repeat(fmt.Sprint(i), 8))
			s.say(a, "", fails)
			s.say(a, "", ready)
			if i == 2 {
				s.say(a, "", event.AllocHealth{Healthy: true})
				continue
			}
			latest := fails
			latest.Output = "it was\nrefused"
			s.say(a, "", latest)
			s.say(a, "", event.AllocHealth{Healthy: false})
		}
		s.ends(c.result)
		_, table, _ := strings.Cut(s.err.String(), "DURATION")
		_, verdict, _ := strings.Cut(table, "\n\n")
		if _, got, _ := strings.Cut(verdict, "\n"); got != c.want {
			t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(c.want, got))
		}
	}
}

// Tasks that failed in the same way are named together, and the others with
// their reasons.
func TestRepeatedFailureIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, Options{Time: ui.TimeNone, Jobs: []*api.Job{job("j", 8, task("a"))}})
	for i, code := range []int{3, 3, 4, 3, 3, 3, 3, 0} {
		reason := ""
		if code != 0 {
			reason = "no more"
		}
		a := alloc("j", i, strings.Repeat(fmt.Sprint(i), 8))
		s.dies(a, "a", code, 0, reason)
		if code != 0 {
			s.say(a, "", event.AllocStatus{Status: "failed", Retry: -1})
		}
	}
	s.ends(Result{ExitCode: 1})
	_, got, _ := strings.Cut(s.err.String(), "exit code 1\n")
	for _, want := range []string{
		"✗ app[0]/a, app[1]/a, app[3]/a, app[4]/a and 2 more failed first: exit code 3\n",
		"  failed as well: app[2]/a: exit code 4\n",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// A row of the closing table has the duration of a task, and the number of
// replacements of its allocation if there are any.
func TestClosingTable(t *testing.T) {
	t.Parallel()
	s, a := pair(t, 0, Options{})
	b := alloc("j", 0, "22222222")
	s.running(a, "a", 0)
	s.after(time.Second).dies(a, "a", 2, 1, "no more")
	s.say(a, "", event.AllocStatus{Status: "failed", Retry: 0})
	s.say(b, "", event.AllocStatus{Status: "running", Replaces: a.ID, Retry: -1})
	s.running(b, "a", 0)
	s.after(time.Minute).running(b, "b", 2)
	s.after(time.Second)
	s.dies(b, "b", 0, 2, "")
	s.ends(Result{})
	_, got, _ := strings.Cut(s.err.String(), "\n\n")
	want := "TASK  STATE    EXIT  RESTARTS  DURATION  REPLACED\n" +
		"a     running     -         0      1m1s         1\n" +
		"b     dead        0         2        1s         1\n\n"
	if !strings.HasPrefix(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// The summary of a job has only its own allocations, and fails if any of them
// failed.
func TestSummary(t *testing.T) {
	t.Parallel()
	m := fold.New([]*api.Job{job("a", 1, task("t")), job("b", 1, task("t"))})
	one := 1
	for _, e := range []event.Event{
		{Alloc: alloc("a", 0, "11111111"), Task: "t", Body: event.TaskEvent{TaskEvent: event.Terminated(1, 0, false, nil)}},
		{Alloc: alloc("a", 0, "11111111"), Task: "t", Body: event.TaskState{State: "dead", Failed: true, Restarts: 2, ExitCode: &one}},
		{Alloc: alloc("a", 0, "11111111"), Body: event.AllocStatus{Status: "failed", Retry: -1}},
		{Alloc: alloc("b", 0, "22222222"), Body: event.AllocStatus{Status: "complete", Retry: -1}},
	} {
		m.Apply(e)
	}
	result := Result{ExitCode: 1, Time: begin.Add(1500 * time.Millisecond)}
	output := func(string, string) []string { return []string{"no such", "table"} }
	summarize := func(job string) Summary { return Summarize(m, job, begin, result, 2, output) }
	a, b := summarize("a"), summarize("b")
	if a.Status != "failed" || b.Status != "complete" || a.DurationMS != 1500 || a.ExitCode != 1 || !a.Ended().Equal(result.Time) {
		t.Errorf("%+v and %+v", a, b)
	}
	if a.Reason != `task "t" of a.app[0] failed: exit code 1` || b.Reason != "all allocations are complete" || a.Warnings != 2 {
		t.Errorf("reasons %q and %q, %d warnings", a.Reason, b.Reason, a.Warnings)
	}
	if f := a.FirstFailure; b.FirstFailure != nil || f.Task != "t" || f.Event != api.TaskTerminated || f.LastOutput != "no such\ntable" {
		t.Errorf("first failures %+v and %+v", f, b.FirstFailure)
	}
	want := []AllocSummary{{Alloc: "a.app[0]", AllocID: alloc("a", 0, "11111111").ID, Status: "failed", Tasks: map[string]event.TaskState{"t": {State: "dead", Failed: true, Restarts: 2, ExitCode: &one}}}}
	if diff := cmp.Diff(want, a.Allocs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	result.Cause = "interrupted"
	if a, b = summarize("a"), summarize("b"); a.Status != "failed" || b.Status != "stopped" {
		t.Errorf("stopped: %s and %s", a.Status, b.Status)
	}
}

// The last screen names at most two of the waiting tasks, all others that
// failed, and no task twice.
func TestLastScreen(t *testing.T) {
	t.Parallel()
	s := newStage(t, 0, Options{Time: ui.TimeNone, Jobs: []*api.Job{job("j", 1,
		hooked("first", "prestart", false), task("a"), task("b"), task("c"), hooked("tidy", "poststop", false))}})
	a := alloc("j", 0, "11111111")
	s.happens(a, "first", event.Received())
	s.dies(a, "first", 127, 0, "no more")
	s.say(a, "c", event.TaskState{State: "dead", Failed: true})
	s.say(a, "tidy", event.TaskState{State: "dead", Failed: true})
	s.say(a, "", event.AllocStatus{Status: "failed", Retry: -1})
	s.ends(Result{ExitCode: 1})
	_, got, _ := strings.Cut(s.err.String(), "exit code 1\n")
	want := `✗ first failed first: exit code 127
  events of task "first" in j.app[0] (11111111)
    12:00:00.000 Received: Task received by client
    12:00:00.000 Terminated: Exit Code: 127
    12:00:00.000 Not Restarting: no more
  it wrote nothing
  a had not run: it waited for the end of prestart task "first"
  and 2 more waited
  failed as well: c, tidy
  127 usually means: a shell did not find a command; NOMAD_TASK_DIR and PATH decide where it looks
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
