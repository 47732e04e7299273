package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// begin is the start of every run in these tests.
var begin = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// story sends the events of a run of one job to a verdict.
type story struct {
	seq uint64
	*Verdict
	now     time.Time
	actions []Action // except CarryOn
}

// testJob is a job of one group, app, with tasks main and side, and the
// poststop task after.
func testJob(kind string, count int) *api.Job {
	j := api.NewServiceJob("j", "j", "global", 50)
	j.Type = &kind
	g := api.NewTaskGroup("app", count)
	after := api.NewTask("after", "raw_exec")
	after.Lifecycle = &api.TaskLifecycle{Hook: api.TaskLifecycleHookPoststop}
	g.Tasks = []*api.Task{api.NewTask("main", "raw_exec"), api.NewTask("side", "raw_exec"), after}
	j.TaskGroups = []*api.TaskGroup{g}
	j.Canonicalize()
	return j
}

// place returns the allocation with an index; every replacement has another ID.
func place(index int, id string) *event.Alloc {
	return &event.Alloc{Job: "j", Group: "app", Name: fmt.Sprintf("j.app[%d]", index), ID: id}
}

func (s *story) did(d Decision) *story {
	if d.Action != CarryOn {
		s.actions = append(s.actions, d.Action)
	}
	return s
}

func (s *story) event(a *event.Alloc, task string, body event.Body) *story {
	s.seq++
	return s.did(s.Observe(event.Event{Seq: s.seq, Time: s.now, Alloc: a, Task: task, Body: body}))
}

func (s *story) runs(id string, tasks ...string) *story {
	for _, t := range tasks {
		s.event(place(0, id), t, event.TaskState{State: "running"})
	}
	return s
}

func (s *story) dies(id, task string, code int) *story {
	return s.event(place(0, id), task, event.TaskState{State: "dead", ExitCode: &code})
}

func (s *story) fails(id, task string, code int) *story {
	return s.event(place(0, id), task, event.TaskState{State: "dead", Failed: true, ExitCode: &code})
}

func (s *story) alloc(id, status string) *story {
	return s.event(place(0, id), "", event.AllocStatus{Status: status, Retry: -1})
}

func (s *story) replaced(old, id string) *story {
	return s.event(place(0, id), "", event.AllocStatus{Status: "pending", Replaces: old, Retry: -1})
}

func (s *story) retried(id string) *story {
	return s.event(place(0, id), "", event.AllocStatus{Status: "failed", Retry: 5 * time.Second})
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	complete := func(s *story) { s.alloc("a", "complete") }
	for _, c := range []struct {
		name   string
		policy Policy
		play   func(*story)
		code   int
		want   []Action
	}{
		{"complete", Policy{}, complete, 0, nil},
		{"failed", Policy{}, func(s *story) { s.alloc("a", "failed") }, 1, nil},
		{"failed, then replaced and complete", Policy{}, func(s *story) {
			s.retried("a").replaced("a", "b").alloc("b", "complete")
		}, 0, nil},
		{"failed, then replaced and failed", Policy{}, func(s *story) {
			s.retried("a").replaced("a", "b").alloc("b", "failed")
		}, 1, nil},
		{"ended without having run", Policy{}, func(*story) {}, 1, nil},
		{"ended without having completed", Policy{}, func(s *story) { s.alloc("a", "running") }, 1, nil},

		{"interrupted", Policy{}, func(s *story) { s.did(s.Signal(syscall.SIGINT, Interrupt)).alloc("a", "complete") }, 130, []Action{Stop}},
		{"terminated", Policy{}, func(s *story) { s.did(s.Signal(syscall.SIGTERM, Terminate)).alloc("a", "complete") }, 143, []Action{Stop}},
		{"hung up", Policy{}, func(s *story) { s.did(s.Signal(syscall.SIGHUP, Hangup)).alloc("a", "complete") }, 129, []Action{Stop}},
		{"interrupted twice", Policy{}, func(s *story) {
			s.did(s.Signal(syscall.SIGINT, Interrupt)).did(s.Signal(syscall.SIGTERM, Terminate)).alloc("a", "complete")
		}, 130, []Action{Stop, Kill}},
		{"interrupted before anything ran", Policy{}, func(s *story) { s.did(s.Signal(syscall.SIGINT, Interrupt)) }, 130, []Action{Stop}},
		{"a failure beats an interrupt", Policy{}, func(s *story) { s.did(s.Signal(syscall.SIGINT, Interrupt)).alloc("a", "failed") }, 1, []Action{Stop}},
		{"an interrupted replacement", Policy{}, func(s *story) {
			s.retried("a").replaced("a", "b").did(s.Signal(syscall.SIGINT, Interrupt)).alloc("b", "complete")
		}, 130, []Action{Stop}},
		{"interrupted before the replacement", Policy{}, func(s *story) { s.retried("a").did(s.Signal(syscall.SIGINT, Interrupt)) }, 1, []Action{Stop}},

		{"timeout", Policy{Timeout: time.Minute}, func(s *story) { s.did(s.Overdue()).alloc("a", "complete") }, 124, []Action{Stop}},
		{"too many events", Policy{Events: 3}, func(s *story) {
			s.alloc("a", "running").alloc("b", "running").alloc("a", "complete").alloc("b", "complete")
		}, 124, []Action{Stop}},
		{"just as many events", Policy{Events: 4}, func(s *story) {
			s.alloc("a", "running").alloc("b", "running").alloc("a", "complete").alloc("b", "complete")
		}, 0, nil},
		{"a failure beats a timeout", Policy{}, func(s *story) { s.did(s.Overdue()).alloc("a", "failed") }, 1, []Action{Stop}},
		{"the first cause counts", Policy{}, func(s *story) {
			s.did(s.Overdue()).did(s.Signal(syscall.SIGINT, Interrupt)).alloc("a", "complete")
		}, 124, []Action{Stop, Stop}},

		{"stdout closed", Policy{}, func(s *story) { s.did(s.Closed(syscall.EPIPE)).alloc("a", "complete") }, 141, []Action{Stop}},
		{"stdout closed beats a failure", Policy{}, func(s *story) { s.did(s.Closed(syscall.EPIPE)).alloc("a", "failed") }, 141, []Action{Stop}},
		{"terminal closed", Policy{}, func(s *story) {
			s.did(s.Closed(syscall.EIO)).did(s.Signal(syscall.SIGHUP, Hangup)).alloc("a", "complete")
		}, 129, []Action{Stop, Stop}},
		{"stdout full", Policy{}, func(s *story) { s.did(s.Closed(syscall.ENOSPC)).alloc("a", "complete") }, 125, []Action{Stop}},
		{"not cleaned up", Policy{}, func(s *story) { s.alloc("a", "complete").Broke(errors.New("left")) }, 125, nil},
		{"lost by taskrun", Policy{}, func(s *story) { s.Broke(errors.New("unreadable")) }, 125, nil},
		{"lost while it ran", Policy{}, func(s *story) { s.alloc("a", "running").Broke(errors.New("unreadable")) }, 125, nil},
		{"stopped and not cleaned up", Policy{}, func(s *story) {
			s.did(s.Signal(syscall.SIGTERM, Terminate)).alloc("a", "complete").Broke(errors.New("left"))
		}, 143, []Action{Stop}},
		{"stopped by a client and not cleaned up", Policy{}, func(s *story) {
			s.did(s.Ordered(false)).alloc("a", "complete").Broke(errors.New("left"))
		}, 125, []Action{Stop}},
		{"not cleaned up, where one task counts", Policy{}, func(s *story) {
			s.Cause = Cause{Text: "task has ended", Own: true}
			s.alloc("a", "failed").Broke(errors.New("left"))
		}, 125, nil},
		{"failed and not cleaned up", Policy{}, func(s *story) { s.alloc("a", "failed").Broke(errors.New("left")) }, 1, nil},

		{"fail fast", Policy{FailFast: true}, func(s *story) { s.retried("a") }, 1, []Action{Stop}},
		{"fail fast, complete", Policy{FailFast: true}, complete, 0, nil},
		{"until, failed", Policy{Until: time.Second}, func(s *story) { s.retried("a") }, 1, []Action{Stop}},
		{"until, complete before", Policy{Until: time.Second}, complete, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{Verdict: New(c.policy, []*api.Job{testJob("batch", 1)}), now: begin}
			c.play(s)
			if got := s.Code(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			if fmt.Sprint(s.actions) != fmt.Sprint(c.want) {
				t.Errorf("actions %v, want %v", s.actions, c.want)
			}
		})
	}
}

func TestExitCodeFromTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		play func(*story)
		code int
		want []Action
	}{
		{"ends well", func(s *story) { s.dies("a", "main", 0).alloc("a", "complete") }, 0, []Action{Stop}},
		{"ends well although another failed before", func(s *story) {
			s.fails("a", "side", 9).dies("a", "main", 0).alloc("a", "failed")
		}, 0, []Action{Stop}},
		{"fails for good", func(s *story) { s.fails("a", "main", 7).alloc("a", "failed") }, 7, []Action{Stop}},
		{"killed by a signal", func(s *story) { s.fails("a", "main", 137).alloc("a", "failed") }, 137, []Action{Stop}},
		{"another task ends", func(s *story) { s.dies("a", "side", 3).alloc("a", "complete") }, 0, nil},
		{"fails, then runs again elsewhere and ends well", func(s *story) {
			s.fails("a", "main", 7).retried("a").replaced("a", "b").dies("b", "main", 0).alloc("b", "complete")
		}, 0, []Action{Stop}},
		{"killed because another failed, and runs again", func(s *story) {
			s.fails("a", "side", 9).retried("a").dies("a", "main", 130).replaced("a", "b").dies("b", "main", 4)
		}, 4, []Action{Stop}},
		{"could not be started", func(s *story) {
			s.event(place(0, "a"), "main", event.TaskState{State: "dead", Failed: true}).alloc("a", "failed")
		}, 1, []Action{Stop}},
		{"never started since another failed", func(s *story) {
			s.fails("a", "side", 9).alloc("a", "failed").event(place(0, "a"), "main", event.TaskState{State: "dead"})
		}, 1, []Action{Stop}},
		{"restarts are not the end", func(s *story) {
			code := 3
			s.event(place(0, "a"), "main", event.TaskState{State: "pending", Restarts: 1, ExitCode: &code})
			s.runs("a", "main").dies("a", "main", 0)
		}, 0, []Action{Stop}},
		{"a code that no process has", func(s *story) { s.fails("a", "main", 256).alloc("a", "failed") }, 255, []Action{Stop}},
		{"the highest code of a process", func(s *story) { s.fails("a", "main", 255).alloc("a", "failed") }, 255, []Action{Stop}},
		{"a negative code", func(s *story) { s.fails("a", "main", -1).alloc("a", "failed") }, 255, []Action{Stop}},
		{"fails with 0", func(s *story) { s.fails("a", "main", 0).alloc("a", "failed") }, 1, []Action{Stop}},
		{"allocations of others end", func(s *story) {
			for _, a := range []*event.Alloc{{Job: "k", Group: "app", Name: "k.app[0]", ID: "k"}, {Job: "j", Group: "db", Name: "j.db[0]", ID: "db"}} {
				s.event(a, "main", event.TaskState{State: "dead", ExitCode: new(5)})
			}
			s.dies("a", "main", 3)
		}, 3, []Action{Stop}},
		{"interrupted", func(s *story) {
			s.did(s.Signal(syscall.SIGINT, Interrupt)).dies("a", "main", 130).alloc("a", "complete")
		}, 130, []Action{Stop}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			jobs := []*api.Job{testJob("batch", 1)}
			from, err := FindCodeFrom("main", jobs)
			if err != nil {
				t.Fatal(err)
			}
			s := &story{Verdict: New(Policy{CodeFrom: from}, jobs), now: begin}
			c.play(s)
			if got := s.Code(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			if fmt.Sprint(s.actions) != fmt.Sprint(c.want) {
				t.Errorf("actions %v, want %v", s.actions, c.want)
			}
		})
	}
}

func TestExitCodeFromSeveralInstancesIsTheWorst(t *testing.T) {
	t.Parallel()
	jobs := []*api.Job{testJob("batch", 3)}
	from, err := FindCodeFrom("app/main", jobs)
	if err != nil {
		t.Fatal(err)
	}
	s := &story{Verdict: New(Policy{CodeFrom: from}, jobs), now: begin}
	for i, code := range []int{2, 5, 0} {
		if len(s.actions) > 0 {
			t.Fatalf("stopped after %d of 3 instances", i)
		}
		a := place(i, fmt.Sprint(i))
		s.event(a, "main", event.TaskState{State: "dead", Failed: code > 0, ExitCode: &code})
		if code > 0 {
			s.event(a, "", event.AllocStatus{Status: "failed", Retry: -1})
		}
	}
	if got := s.Code(); got != 5 || len(s.actions) != 1 {
		t.Errorf("exit code %d after %v, want 5 after one stop", got, s.actions)
	}
}

func TestUntilIsFulfilledWhenEveryTaskHasRunForSoLong(t *testing.T) {
	t.Parallel()
	const wait = 10 * time.Second
	for _, c := range []struct {
		name string
		kind string
		play func(*story)
		due  time.Duration // after begin; 0: unknown
	}{
		{"nothing runs yet", "service", func(*story) {}, 0},
		{"all run", "service", func(s *story) { s.runs("a", "main", "side") }, wait},
		{"one is pending", "service", func(s *story) { s.runs("a", "main") }, 0},
		{"the last one counts", "service", func(s *story) {
			s.runs("a", "main")
			s.now = begin.Add(3 * time.Second)
			s.runs("a", "side")
		}, wait + 3*time.Second},
		{"a restart starts over", "service", func(s *story) {
			s.runs("a", "main", "side")
			s.now = begin.Add(5 * time.Second)
			s.event(place(0, "a"), "main", event.TaskState{State: "pending", Restarts: 1})
			s.event(place(0, "a"), "main", event.TaskState{State: "running", Restarts: 1})
		}, wait + 5*time.Second},
		{"in a restart", "service", func(s *story) {
			s.runs("a", "main", "side").event(place(0, "a"), "main", event.TaskState{State: "pending", Restarts: 1})
		}, 0},
		{"one has ended well", "batch", func(s *story) { s.runs("a", "main", "side").dies("a", "side", 0) }, wait},
		{"all have ended", "batch", func(s *story) { s.dies("a", "main", 0).dies("a", "side", 0) }, 0},
		{"one has failed", "batch", func(s *story) { s.runs("a", "main").fails("a", "side", 1) }, 0},
		{"stopped by something else", "service", func(s *story) {
			s.runs("a", "main", "side").did(s.Signal(syscall.SIGINT, Interrupt))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{Verdict: New(Policy{Until: wait}, []*api.Job{testJob(c.kind, 1)}), now: begin}
			c.play(s)
			at, ok := s.Due()
			if !ok {
				at = begin
			}
			if got := at.Sub(begin); got != c.due {
				t.Fatalf("due after %v, want %v", got, c.due)
			}
			if c.due == 0 {
				return
			}
			if a := s.Tick(at.Add(-time.Nanosecond)); a.Action != CarryOn {
				t.Error("stopped too early")
			}
			if a := s.Tick(at); a.Action != Stop {
				t.Error("not stopped when due")
			}
			if s.alloc("a", "complete"); s.Code() != 0 {
				t.Errorf("exit code %d, want 0", s.Code())
			}
		})
	}
}

func TestUntilWaitsForEveryAllocation(t *testing.T) {
	t.Parallel()
	s := &story{Verdict: New(Policy{Until: time.Second}, []*api.Job{testJob("service", 2)}), now: begin}
	s.runs("a", "main", "side")
	if _, ok := s.Due(); ok {
		t.Error("due with one of two allocations")
	}
}

func TestTimeoutNamesUnfinishedTasks(t *testing.T) {
	t.Parallel()
	others := func(s *story, more ...string) {
		for i, id := range more {
			s.event(place(i+1, id), "side", event.TaskState{State: "dead"}).event(place(i+1, id), "main", event.TaskState{State: "running"})
		}
	}
	for want, play := range map[string]func(*story){
		"the timeout of 1m0s has passed: stopping":                                 func(s *story) { s.dies("a", "main", 0).dies("a", "side", 0) },
		"the timeout of 1m0s has passed with main running, side pending: stopping": func(s *story) { s.runs("a", "main") },
		"the timeout of 1m0s has passed with main running, side pending, main running: stopping": func(s *story) {
			s.runs("a", "main")
			others(s, "b")
		},
		"the timeout of 1m0s has passed with main running, side pending, main running, 2 more: stopping": func(s *story) {
			s.runs("a", "main")
			others(s, "b", "c", "d")
		},
	} {
		s := &story{Verdict: New(Policy{Timeout: time.Minute}, []*api.Job{testJob("batch", 4)}), now: begin}
		play(s)
		if said := s.Overdue().Say; said != want {
			t.Errorf("said %q, want %q", said, want)
		}
	}
}

// A message says what a signal does, and what a second one would do.
func TestOrders(t *testing.T) {
	t.Parallel()
	for want, order := range map[Decision]func(*Verdict) Decision{
		{Stop, "stopping; press Ctrl-C again to kill"}: func(v *Verdict) Decision { return v.Signal(syscall.SIGINT, Interrupt) },
		{Kill, "killing"}: func(v *Verdict) Decision {
			v.Signal(syscall.SIGINT, Interrupt)
			return v.Signal(syscall.SIGINT, Interrupt)
		},
		{Stop, "stopping: a client requested it"}: func(v *Verdict) Decision { return v.Ordered(false) },
		{Kill, "killing: a client requested it"}:  func(v *Verdict) Decision { return v.Ordered(true) },
		{Kill, "killing; press Ctrl-C again to leave the run"}: func(v *Verdict) Decision {
			v.Outlives, v.First = true, Kill
			return v.Signal(syscall.SIGINT, Interrupt)
		},
		{Leave, ""}: func(v *Verdict) Decision { v.Outlives = true; return v.Signal(syscall.SIGINT, Interrupt) },
		{Stop, "cannot write to stdout: full: stopping"}: func(v *Verdict) Decision { return v.Closed(errors.New("full")) },
		{Stop, "stdout was closed: stopping"}:            func(v *Verdict) Decision { return v.Closed(syscall.EPIPE) },
		{Stop, "the terminal was closed: stopping"}:      func(v *Verdict) Decision { return v.Closed(syscall.EIO) },
	} {
		v := New(Policy{}, []*api.Job{testJob("batch", 1)})
		if v.Impatient() {
			t.Error("a user is impatient before an order")
		}
		got := order(v)
		if impatient := want.Say == "killing" || want.Action == Leave; got != want || v.Impatient() != impatient {
			t.Errorf("%+v, impatient %t, want %+v, %t", got, v.Impatient(), want, impatient)
		}
		if byClient := v.Cause == (Cause{Text: ByClient, User: true}); byClient != strings.HasSuffix(want.Say, "a client requested it") {
			t.Errorf("%q: the cause is %+v", want.Say, v.Cause)
		}
	}
}

// stage is a rehearsal of a number of allocations that a notice breaks off.
type stage int

func (stage) Observe(e event.Event) string {
	notice, _ := e.Body.(event.Notice)
	return notice.Text
}

func (s stage) Complete(final []*fold.Alloc) bool { return len(final) == int(s) }

// A rehearsal ends when it is complete, with its first failure, or with that of an
// allocation.
func TestStage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, cause string
		code, count int
		play        func(*story)
	}{
		{"not placed yet", "", Failed, 2, func(s *story) { s.alloc("a", "running") }},
		{"complete", "every task was rehearsed", OK, 1, func(s *story) { s.alloc("a", "running") }},
		{"it fails", "no stub", Failed, 2, func(s *story) { s.event(nil, "", event.Notice{Text: "no stub"}).alloc("a", "complete") }},
		{"an allocation fails", "j.app[0] failed", Failed, 2, func(s *story) { s.alloc("a", "failed") }},
	} {
		s := &story{Verdict: New(Policy{Stage: stage(1)}, []*api.Job{testJob("batch", tt.count)}), now: begin}
		tt.play(s)
		if s.Cause.Text != tt.cause || s.Code() != tt.code {
			t.Errorf("%s: %+v, exit code %d, want %q, %d", tt.name, s.Cause, s.Code(), tt.cause, tt.code)
		}
	}
}

func TestTaskOfExitCodeFromMustBeOne(t *testing.T) {
	t.Parallel()
	two := testJob("batch", 1)
	other := api.NewTaskGroup("other", 1)
	other.Tasks = []*api.Task{api.NewTask("main", "raw_exec")}
	two.TaskGroups = append(two.TaskGroups, other)
	for _, c := range []struct {
		name string
		err  string
	}{
		{"side", ""},
		{"app/main", ""},
		{"j/other/main", ""},
		{"main", `cannot take the exit code from task "main": it is ambiguous: j/app/main, j/other/main`},
		{"man", `cannot take the exit code from task "man": no job has it`},
		{"", `cannot take the exit code from task "": no job has it`},
	} {
		_, err := FindCodeFrom(c.name, []*api.Job{two})
		if got := fmt.Sprint(err); c.err == "" && err != nil || c.err != "" && got != c.err {
			t.Errorf("%q: %v, want %s", c.name, err, c.err)
		}
		var wrong *TaskError
		if err != nil && (!errors.As(err, &wrong) || !slices.Equal(wrong.Tasks, []string{"j/app/main", "j/app/side", "j/app/after", "j/other/main"})) {
			t.Errorf("%q: error %#v", c.name, err)
		}
	}
}

// After a change of a job, --until ignores the time before it, and all time
// while allocations of the earlier version must still be replaced.
func TestUntilAfterAnUpdate(t *testing.T) {
	t.Parallel()
	s := &story{now: begin.Add(-time.Hour)}
	s.Verdict = New(Policy{Until: 10 * time.Second, Since: begin}, []*api.Job{testJob("service", 1)})
	s.runs("a", "main", "side")
	if at, ok := s.Due(); !ok || !at.Equal(begin.Add(10*time.Second)) {
		t.Errorf("due at %v, %v", at, ok)
	}
	s.now = begin.Add(time.Second)
	s.event(nil, "", event.Deployment{ID: "replaced", Job: "j", Status: "running"})
	s.event(nil, "", event.Deployment{ID: "new", Job: "j", Status: "running"})
	if at, ok := s.Due(); ok {
		t.Errorf("due at %v while the deployment goes on", at)
	}
	s.now = begin.Add(5 * time.Second)
	s.replaced("a", "b").runs("b", "main", "side")
	s.event(nil, "", event.Deployment{ID: "new", Job: "j", Status: "successful"})
	if at, ok := s.Due(); !ok || !at.Equal(begin.Add(15*time.Second)) {
		t.Errorf("due at %v, %v", at, ok)
	}
}
