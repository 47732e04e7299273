package rehearse

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Observe takes in an event, and returns a failure that the tasks have not caused
// themselves.
func (r *Rehearsal) Observe(e event.Event) (failure string) {
	switch body := e.Body.(type) {
	case event.Service:
		if body.Registered && e.Alloc != nil {
			r.offered[e.Alloc.ID]++
		}
	case event.TaskEvent:
		switch body.Type {
		case api.TaskTerminated:
			if body.Details["exit_code"] == "0" {
				r.acts[act{e.Alloc.ID, e.Task}] = true
			}
		case api.TaskSetupFailure, api.TaskArtifactDownloadFailed, api.TaskFailedValidation, api.TaskDriverFailure,
			event.TaskHookFailed:
			return fmt.Sprintf("%s, task %q: %s: %s", e.Alloc.Name, e.Task, body.Type, body.DisplayMessage)
		}
		if event.Fails(body.TaskEvent) && body.Type == api.TaskKilling {
			return fmt.Sprintf("%s, task %q: %s", e.Alloc.Name, e.Task, body.DisplayMessage)
		}
	}
	return ""
}

// Complete reports whether every task has done its part, all services are
// registered, and some tasks would continue.
func (r *Rehearsal) Complete(final []*fold.Alloc) bool {
	goesOn := false
	for _, a := range final {
		if r.offered[a.ID] < r.expect[a.Job+"/"+a.Group] {
			return false
		}
		for _, t := range a.Tasks {
			ends := !r.scripts[role{a.Job, a.Group, t.Name}].RunsOn()
			switch {
			case t.Poststop(), t.State == "dead" && !t.Failed:
			case !ends && t.State == "running":
				goesOn = true
			case ends && t.State == "pending" && r.acts[act{a.ID, t.Name}]: // it would start again
				goesOn = true
			default:
				return false
			}
		}
	}
	return goesOn
}
