package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// jobAction is an action as it is on the wire.
type jobAction struct {
	Name          string
	Command       string
	Args          []string
	TaskName      string
	TaskGroupName string
}

// listActions answers GET /v1/job/:id/actions.
func (s *Server) listActions(_ http.ResponseWriter, r *request) (any, error) {
	_, j, err := s.findJob(r)
	if err != nil {
		return nil, fmt.Errorf("Unknown job %q", r.id) //nolint:staticcheck // Nomad's words
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

// runAction answers GET /v1/job/:id/action: as exec, with the command that the
// job has for an action.
func (s *Server) runAction(w http.ResponseWriter, r *request) error {
	return s.serveSession(w, r, func(c *session) error {
		tty, err := c.terminal(r)
		if err != nil {
			return err
		}
		alloc, task := r.query.Get("allocID"), r.query.Get("task")
		action, err := s.findAction(r, alloc, task)
		if err != nil {
			return err
		}
		return s.engine.Exec(c.ctx, alloc, task, append([]string{action.Command}, action.Args...), tty, c)
	})
}

// findAction returns the action that a request names, of a task that runs.
func (s *Server) findAction(r *request, alloc, task string) (*api.Action, error) {
	name := r.query.Get("action")
	switch {
	case name == "":
		return nil, fail(http.StatusBadRequest, "action name must be supplied")
	case task == "":
		return nil, fail(http.StatusBadRequest, "must provide task name")
	}
	a, ok := s.engine.Alloc(alloc)
	switch {
	case !ok || !r.inNamespace(*a.Job.Namespace):
		return nil, unknownAlloc(alloc)
	case a.Alloc.Job != r.id:
		return nil, fail(http.StatusBadRequest, "job %s does not have allocation %s", r.id, alloc)
	}
	tasks := a.Job.LookupTaskGroup(a.Group).Tasks
	i := slices.IndexFunc(tasks, func(t *api.Task) bool { return t.Name == task })
	if i < 0 {
		return nil, fail(http.StatusBadRequest, "task %s not found in allocation %s", task, alloc)
	}
	n := slices.IndexFunc(tasks[i].Actions, func(action *api.Action) bool { return action.Name == name })
	if n < 0 {
		return nil, fail(http.StatusBadRequest, "action %s not found in task %s", name, task)
	}
	return tasks[i].Actions[n], checkRuns(a, task)
}
