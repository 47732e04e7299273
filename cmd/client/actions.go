package client

import (
	"context"
	"slices"

	"github.com/hashicorp/nomad/api"
)

// Action is an action of a task, as its job defines it.
type Action struct {
	Task *Task
	*api.Action
}

// Actions returns the actions of tasks, in the order of the tasks.
func Actions(ctx context.Context, tasks []*Task) (actions []Action, err error) {
	type jobKey struct {
		server        *Server
		id, namespace string
	}
	jobs := map[jobKey]*api.Job{}
	for _, t := range tasks {
		key := jobKey{t.Server, t.Alloc.JobID, t.Alloc.Namespace}
		if jobs[key] == nil {
			if jobs[key], _, err = t.Server.in(key.namespace).Info(ctx, key.id, 0); err != nil {
				return nil, err
			}
		}
		for _, a := range actionsOf(jobs[key], t) {
			actions = append(actions, Action{t, a})
		}
	}
	return actions, nil
}

func actionsOf(job *api.Job, t *Task) []*api.Action {
	if g := job.LookupTaskGroup(t.Alloc.TaskGroup); g != nil {
		if i := slices.IndexFunc(g.Tasks, func(task *api.Task) bool { return task.Name == t.Name }); i >= 0 {
			return g.Tasks[i].Actions
		}
	}
	return nil
}

// ActionNames returns the names of actions.
func ActionNames(actions []Action) (names []string) {
	for _, a := range actions {
		names = append(names, a.Name)
	}
	return names
}
