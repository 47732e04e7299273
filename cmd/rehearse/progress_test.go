package rehearse

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers/rehearsal"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// placed returns an allocation with one task in a state.
func placed(state event.TaskState) *fold.Alloc {
	return &fold.Alloc{
		Alloc: &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"},
		Tasks: []*fold.Task{{Name: "t", TaskState: state}},
	}
}

// A rehearsal is complete when each task has done its part, one of them would
// continue, and all services are registered.
func TestComplete(t *testing.T) {
	t.Parallel()
	dead, failed := event.TaskState{State: "dead"}, event.TaskState{State: "dead", Failed: true}
	running, pending := event.TaskState{State: "running"}, event.TaskState{State: "pending"}
	for name, tt := range map[string]struct {
		state             event.TaskState
		runsOn, ended     bool
		services, offered int
		want              bool
	}{
		"a service runs":                 {running, true, false, 0, 0, true},
		"it has not started":             {pending, true, false, 0, 0, false},
		"it would start again":           {pending, true, true, 0, 0, false},
		"a task runs that ends":          {running, false, false, 0, 0, false},
		"it has not started yet":         {pending, false, false, 0, 0, false},
		"it has ended, and starts again": {pending, false, true, 0, 0, true},
		"all has ended":                  {dead, false, true, 0, 0, false},
		"it has failed":                  {failed, false, false, 0, 0, false},
		"a service is missing":           {running, true, false, 2, 1, false},
		"all services are registered":    {running, true, false, 2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(nil)
			script := rehearsal.For(0, 0)
			if tt.runsOn {
				script = rehearsal.For(rehearsal.Forever, 0)
			}
			r.scripts[role{"j", "g", "t"}] = script
			r.expect["j/g"] = tt.services
			a := placed(tt.state)
			if tt.ended {
				r.Observe(event.Event{Alloc: a.Alloc, Task: "t", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{
					Type: api.TaskTerminated, Details: map[string]string{"exit_code": "0"},
				}}})
			}
			for range tt.offered {
				r.Observe(event.Event{Alloc: a.Alloc, Body: event.Service{Registered: true}})
				r.Observe(event.Event{Alloc: a.Alloc, Body: event.Service{}}) // withdrawn: it has been there
			}
			if got := r.Complete([]*fold.Alloc{a}); got != tt.want {
				t.Errorf("complete: %v, want %v", got, tt.want)
			}
		})
	}
	r := New(nil)
	r.scripts[role{"j", "g", "t"}] = rehearsal.For(rehearsal.Forever, 0)
	for _, tt := range []struct {
		other event.TaskState
		want  bool
	}{{dead, true}, {failed, false}} {
		if got := r.Complete([]*fold.Alloc{placed(running), placed(tt.other)}); got != tt.want {
			t.Errorf("a service runs beside a task %+v: complete: %v", tt.other, got)
		}
	}
	if New(nil).Complete(nil) {
		t.Error("a rehearsal without allocations goes on")
	}
}

// A setup that fails ends a rehearsal, with a message that names the task.
func TestFailures(t *testing.T) {
	t.Parallel()
	const text = "it broke"
	for kind, fails := range map[string]bool{
		api.TaskSetupFailure: true, api.TaskArtifactDownloadFailed: true, api.TaskFailedValidation: true,
		api.TaskDriverFailure: true, event.TaskHookFailed: true,
		api.TaskReceived: false, api.TaskStarted: false, api.TaskTerminated: false, api.TaskKilling: false, api.TaskRestarting: false,
	} {
		r := New(nil)
		got := r.Observe(event.Event{Alloc: placed(event.TaskState{}).Alloc, Task: "t", Body: event.TaskEvent{
			TaskEvent: &api.TaskEvent{Type: kind, DisplayMessage: text, Details: map[string]string{"exit_code": "1"}},
		}})
		if want := `j.g[0], task "t": ` + kind + ": " + text; fails && got != want || !fails && got != "" {
			t.Errorf("%s: failure %q", kind, got)
		}
		if len(r.acts) > 0 {
			t.Errorf("%s: a task has done its part", kind)
		}
	}
}

// Tasks of batch jobs and hooks end at once, unless something follows them while
// they run.
func TestRunFor(t *testing.T) {
	t.Parallel()
	hook := func(h string, sidecar bool) *api.Task {
		return &api.Task{Lifecycle: &api.TaskLifecycle{Hook: h, Sidecar: sidecar}}
	}
	main := &api.Task{}
	prestart, sidecar, poststart := hook("prestart", false), hook("prestart", true), hook("poststart", false)
	for name, tt := range map[string]struct {
		kind  string
		tasks []*api.Task // the first one counts
		want  time.Duration
	}{
		"of a service":                {"service", []*api.Task{main}, rehearsal.Forever},
		"of a system job":             {"system", []*api.Task{main}, rehearsal.Forever},
		"of a batch job":              {"batch", []*api.Task{main, prestart, sidecar}, 0},
		"of a sysbatch job":           {"sysbatch", []*api.Task{main}, 0},
		"with a poststart task":       {"batch", []*api.Task{main, poststart}, rehearsal.Forever},
		"a prestart task":             {"service", []*api.Task{prestart, main}, 0},
		"a poststart task":            {"batch", []*api.Task{poststart, main}, 0},
		"a sidecar of a service":      {"service", []*api.Task{sidecar, main}, rehearsal.Forever},
		"a sidecar of a batch job":    {"batch", []*api.Task{sidecar, main}, rehearsal.Forever},
		"a poststop task, of a batch": {"batch", []*api.Task{hook("poststop", false), main}, 0},
	} {
		if got := runFor(&api.Job{Type: &tt.kind}, &api.TaskGroup{Tasks: tt.tasks}, tt.tasks[0]); got != tt.want {
			t.Errorf("%s: runs for %v, want %v", name, got, tt.want)
		}
	}
}
