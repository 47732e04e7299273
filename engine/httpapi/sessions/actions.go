package sessions

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
)

// jobAction is an action in its wire format.
type jobAction struct {
	Name          string
	Command       string
	Args          []string
	TaskName      string
	TaskGroupName string
}

// Actions answers GET /v1/job/:id/actions.
func (h *Handler) Actions(r *rest.Request) (any, error) {
	_, j, err := h.run.FindJob(r)
	if err != nil {
		return nil, fmt.Errorf("Unknown job %q", r.ID) //nolint:staticcheck // Nomad's words
	}
	list := []jobAction{}
	for _, g := range j.TaskGroups {
		for _, t := range g.Tasks {
			for _, a := range t.Actions {
				list = append(list, jobAction{a.Name, a.Command, a.Args, t.Name, *g.Name})
			}
		}
	}
	return list, nil
}

// Action answers GET /v1/job/:id/action. It is like exec, with the command of
// an action of the job.
func (h *Handler) Action(r *rest.Request) error {
	return h.serve(r, func() (a engine.Alloc, task string, command []string, err error) {
		alloc, task := r.Query.Get("allocID"), r.Query.Get("task")
		a, _ = h.run.Engine.Alloc(alloc)
		action, err := h.findAction(r, a, alloc, task)
		if err != nil {
			return a, "", nil, err
		}
		return a, task, append([]string{action.Command}, action.Args...), nil
	})
}

// findAction returns the action that a request names, in a running task.
func (h *Handler) findAction(r *rest.Request, a engine.Alloc, alloc, task string) (*api.Action, error) {
	name := r.Query.Get("action")
	switch {
	case name == "":
		return nil, rest.Fail(http.StatusBadRequest, "action name must be supplied")
	case task == "":
		return nil, rest.Fail(http.StatusBadRequest, "must provide task name")
	}
	switch {
	case a.Job == nil || !r.InNamespace(*a.Job.Namespace):
		return nil, rest.UnknownAlloc(alloc)
	case a.Alloc.Job != h.run.KeyIn(*a.Job.Namespace, r.ID):
		return nil, rest.Fail(http.StatusBadRequest, "job %s does not have allocation %s", r.ID, alloc)
	}
	tasks := a.Job.LookupTaskGroup(a.Group).Tasks
	i := slices.IndexFunc(tasks, func(t *api.Task) bool { return t.Name == task })
	if i < 0 {
		return nil, rest.Fail(http.StatusBadRequest, "task %s not found in allocation %s", task, alloc)
	}
	n := slices.IndexFunc(tasks[i].Actions, func(action *api.Action) bool { return action.Name == name })
	if n < 0 {
		return nil, rest.Fail(http.StatusBadRequest, "action %s not found in task %s", name, task)
	}
	return tasks[i].Actions[n], checkRuns(a, task)
}
