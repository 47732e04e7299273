package verdict

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// A run that outlives taskrun is left by a signal or a closed stdout, and
// stopped by the user's answer and by the policy.
func TestRunThatOutlivesTaskrun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy  Policy
		play    func(*story)
		want    []Action
		left    int
		code    int
		stopped bool
	}{
		"a signal leaves it":            {Policy{Outlives: true}, func(s *story) { s.did(s.Signal(os.Interrupt, Interrupt)) }, []Action{Leave}, 130, 1, false},
		"Ctrl-C asks, and again leaves": {Policy{Outlives: true, First: Ask}, func(s *story) { s.did(s.Signal(os.Interrupt, Interrupt)).did(s.Signal(os.Interrupt, Interrupt)) }, []Action{Ask, Leave}, 130, 1, false},
		"another signal leaves it":      {Policy{Outlives: true, First: Ask}, func(s *story) { s.did(s.Signal(syscall.SIGTERM, Terminate)) }, []Action{Leave}, 143, 1, false},
		"the answer is to stop": {Policy{Outlives: true, First: Ask}, func(s *story) {
			s.did(s.Signal(os.Interrupt, Interrupt)).did(s.Answer("S")).alloc("a", "complete")
		}, []Action{Ask, Stop}, 0, 130, true},
		"the answer is to leave": {Policy{Outlives: true, First: Ask}, func(s *story) { s.did(s.Signal(os.Interrupt, Interrupt)).did(s.Answer("leave")) }, []Action{Ask, Leave}, 130, 1, false},
		"the answer is to go on": {Policy{Outlives: true, First: Ask}, func(s *story) {
			s.did(s.Signal(os.Interrupt, Interrupt)).did(s.Answer("")).did(s.Signal(os.Interrupt, Interrupt))
		}, []Action{Ask, Ask}, 0, 1, false},
		"Ctrl-C while it is stopping leaves it": {Policy{Outlives: true, First: Ask}, func(s *story) {
			s.did(s.Overdue()).did(s.Signal(os.Interrupt, Interrupt)).did(s.Answer("s"))
		}, []Action{Stop, Leave}, 130, 124, true},
		"an answer that comes too late": {Policy{Outlives: true, First: Ask}, func(s *story) {
			s.did(s.Signal(os.Interrupt, Interrupt)).did(s.Signal(syscall.SIGTERM, Terminate)).did(s.Answer("s"))
		}, []Action{Ask, Leave}, 143, 1, false},
		"the first signal kills it": {Policy{Outlives: true, First: Kill}, func(s *story) {
			s.did(s.Signal(syscall.SIGTERM, Terminate)).did(s.Signal(os.Interrupt, Interrupt))
		}, []Action{Kill, Leave}, 130, 1, false},
		"stdout is closed":    {Policy{Outlives: true}, func(s *story) { s.did(s.Closed(syscall.EPIPE)) }, []Action{Leave}, 141, 141, true},
		"the terminal closed": {Policy{Outlives: true}, func(s *story) { s.did(s.Closed(syscall.EIO)) }, []Action{Leave}, 129, 129, true},
		"the first failure":   {Policy{Outlives: true, FailFast: true}, func(s *story) { s.alloc("a", "failed") }, []Action{Stop}, 0, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := testJob("batch", 1)
			s := &story{Verdict: New(c.policy, []*api.Job{job}), now: begin}
			c.play(s)
			if len(s.actions) != len(c.want) || s.Left() != c.left || s.Stopping() != c.stopped {
				t.Fatalf("actions %v, left with %d, stopping %t; want %v, %d, %t", s.actions, s.Left(), s.Stopping(), c.want, c.left, c.stopped)
			}
			for i, a := range s.actions {
				if a != c.want[i] {
					t.Errorf("action %d is %d, want %d", i, a, c.want[i])
				}
			}
			if got := s.Code(); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
		})
	}
}

// A run is ready when each job with a deployment is healthy and the tasks of
// the others have run long enough; after a failure it never will be.
func TestReady(t *testing.T) {
	t.Parallel()
	job := func(id, kind string) *api.Job {
		j := testJob(kind, 1)
		j.ID, j.Name = &id, &id
		return j
	}
	web, work, cron := job("web", "service"), job("work", "batch"), job("cron", "batch")
	web.Update, web.TaskGroups[0].Update = api.DefaultUpdateStrategy(), api.DefaultUpdateStrategy()
	cron.Periodic = &api.PeriodicConfig{}
	of := func(job string) *event.Alloc {
		return &event.Alloc{Job: job, Group: "app", Name: job + ".app[0]", ID: job}
	}
	runs := func(job string, at time.Duration) (events []event.Event) {
		for _, task := range []string{"main", "side"} {
			events = append(events, event.Event{Time: begin.Add(at), Alloc: of(job), Task: task, Body: event.TaskState{State: "running"}})
		}
		return events
	}
	healthy := event.Event{Time: begin, Body: event.Deployment{Job: "web", Status: "successful"}}
	sick := event.Event{Time: begin, Body: event.Deployment{Job: "web", Status: "failed", Description: "no"}}
	fails := func(job string) event.Event {
		return event.Event{Time: begin, Alloc: of(job), Body: event.AllocStatus{Status: "failed", Retry: time.Second}}
	}
	for name, c := range map[string]struct {
		jobs    []*api.Job
		until   Until
		past    []event.Event
		events  []event.Event
		after   time.Duration
		decided bool
		failure string
	}{
		"nothing runs at once":             {[]*api.Job{cron}, Until{}, nil, nil, 0, true, ""},
		"a job that is launched may fail":  {[]*api.Job{cron}, Until{}, nil, []event.Event{fails("cron")}, 0, true, ""},
		"nothing has happened yet":         {[]*api.Job{web, work}, Until{}, nil, nil, time.Hour, false, ""},
		"one of two":                       {[]*api.Job{web, work}, Until{}, nil, []event.Event{healthy}, time.Hour, false, ""},
		"the other of two":                 {[]*api.Job{web, work}, Until{}, nil, runs("work", 0), time.Hour, false, ""},
		"both, but not for long enough":    {[]*api.Job{web, work}, Until{}, nil, append(runs("work", 0), healthy), 10*time.Second - 1, false, ""},
		"both":                             {[]*api.Job{web, work}, Until{}, nil, append(runs("work", 0), healthy), 10 * time.Second, true, ""},
		"health does not count, time does": {[]*api.Job{web}, Until{Running: time.Minute}, nil, append(runs("web", 0), healthy), 59 * time.Second, false, ""},
		"it has run for as long as wanted": {[]*api.Job{web}, Until{Running: time.Minute}, nil, runs("web", time.Second), 61 * time.Second, true, ""},
		"the past counts":                  {[]*api.Job{work}, Until{}, runs("work", -time.Minute), nil, 0, true, ""},
		"a failure of the past does not":   {[]*api.Job{work}, Until{}, []event.Event{fails("work")}, nil, time.Hour, false, ""},
		"an allocation fails":              {[]*api.Job{web, work}, Until{}, nil, []event.Event{fails("work")}, 0, true, "work.app[0] failed"},
		"a deployment fails":               {[]*api.Job{web, work}, Until{}, nil, []event.Event{sick}, 0, true, `the deployment of job "web" has failed: no`},
		"that of another job fails":        {[]*api.Job{work}, Until{}, nil, []event.Event{sick}, 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewReady(c.jobs, c.until, time.Time{}, c.past...)
			var action Decision
			for _, e := range c.events {
				action = r.Observe(e)
			}
			if c.after > 0 || len(c.events) == 0 {
				action = r.Tick(begin.Add(c.after))
			}
			failure, decided := r.Decided()
			if decided != c.decided || (action.Action == Leave) != c.decided {
				t.Errorf("decided %t, action %v; want %t", decided, action, c.decided)
			}
			if failure == nil && c.failure != "" || failure != nil && failure.Error() != c.failure {
				t.Errorf("failure %v, want %q", failure, c.failure)
			}
		})
	}
	over := NewReady([]*api.Job{work}, Until{}, time.Time{})
	for _, e := range runs("work", 0) {
		over.Observe(e)
	}
	if at, ok := over.Due(); !ok || !at.Equal(begin.Add(10*time.Second)) {
		t.Errorf("due at %v, %t", at, ok)
	}
	if !over.Failed() {
		t.Error("a run that ended without its end is no failure")
	}
	over.Observe(event.Event{Time: begin, Alloc: of("work"), Body: event.AllocStatus{Status: "complete", Retry: -1}})
	if over.Failed() {
		t.Error("a run that is complete has failed")
	}
	if action := over.Signal(os.Interrupt, Interrupt); action.Action != Leave || over.Left() != Interrupt {
		t.Errorf("a signal leads to %v, code %d", action, over.Left())
	}
}
