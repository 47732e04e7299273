package verify

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// A failure stops the job once the other tasks of the allocation have ended, or
// after a while.
func TestPatience(t *testing.T) {
	t.Parallel()
	job := &api.Job{ID: new("j"), Name: new("j"), TaskGroups: []*api.TaskGroup{{
		Name: new("g"), Tasks: []*api.Task{{Name: "a", Driver: mock}, {Name: "b", Driver: mock}},
	}}}
	job.Canonicalize()
	alloc := &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
	status := func(s string) event.Event {
		return event.Event{Alloc: alloc, Body: event.AllocStatus{Status: s, Retry: -1}}
	}
	state := func(task, s string) event.Event {
		return event.Event{Alloc: alloc, Task: task, Body: event.TaskState{State: s, Failed: task == "a" && s == "dead"}}
	}
	start := func() *patient {
		p := &patient{Verdict: verdict.New(verdict.Policy{Until: time.Hour}, []*api.Job{job})}
		for _, e := range []event.Event{status("pending"), state("a", "running"), state("b", "running"), status("running"), state("a", "dead"), status("failed")} {
			if d := p.Observe(e); d.Action != verdict.CarryOn {
				t.Fatalf("%+v: %+v", e, d)
			}
		}
		return p
	}
	p := start()
	if d := p.Observe(state("b", "dead")); d.Action != verdict.Stop {
		t.Errorf("when the other task has ended: %+v", d)
	}
	p = start()
	due, ok := p.Due()
	if early, late := p.Tick(due.Add(-1)), p.Tick(due); !ok || early.Action != verdict.CarryOn || late.Action != verdict.Stop {
		t.Errorf("by time: %v, %+v, %+v", ok, early, late)
	}
	if at, ok := p.Due(); ok {
		t.Errorf("when it is stopped, something is due at %v", at)
	}
	p = start()
	if d := p.Observe(event.Event{Body: event.Deployment{Job: "j", ID: "d", Status: api.DeploymentStatusRunning}}); d.Action != verdict.CarryOn {
		t.Errorf("by a deployment: %+v", d)
	}
	if d := p.Observe(state("b", "dead")); d.Action != verdict.CarryOn {
		t.Errorf("during a deployment: %+v", d)
	}
	if d := p.Observe(event.Event{Body: event.Deployment{Job: "j", ID: "d", Status: api.DeploymentStatusFailed}}); d.Action != verdict.Stop {
		t.Errorf("when the deployment has ended: %+v", d)
	}
}

// Without a failure, time counts as for any run.
func TestPatienceWithoutAFailure(t *testing.T) {
	t.Parallel()
	job := &api.Job{ID: new("j"), Name: new("j"), TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: []*api.Task{{Name: "a", Driver: mock}}}}}
	job.Canonicalize()
	alloc := &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
	p := &patient{Verdict: verdict.New(verdict.Policy{Until: time.Minute}, []*api.Job{job})}
	for _, e := range []event.Event{
		{Time: begin, Alloc: alloc, Body: event.AllocStatus{Status: "running", Retry: -1}},
		{Time: begin, Alloc: alloc, Task: "a", Body: event.TaskState{State: "running"}},
	} {
		if d := p.Observe(e); d.Action != verdict.CarryOn {
			t.Fatalf("%+v: %+v", e, d)
		}
	}
	at, ok := p.Due()
	if !ok || !at.Equal(begin.Add(time.Minute)) {
		t.Fatalf("due at %v, %v", at, ok)
	}
	if early, late := p.Tick(at.Add(-1)), p.Tick(at); early.Action != verdict.CarryOn || late.Action != verdict.Stop {
		t.Errorf("%+v, then %+v", early, late)
	}
}
