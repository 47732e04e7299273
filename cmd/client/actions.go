package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Action is a command that a job has for a task.
type Action struct {
	Task *Task
	*api.Action
}

// Actions returns what can be done in tasks, in their order.
func Actions(ctx context.Context, tasks []*Task) (actions []Action, err error) {
	type asked struct {
		server    *Server
		job, name string
	}
	jobs := map[asked]*api.Job{}
	for _, t := range tasks {
		of := asked{t.Server, t.Alloc.JobID, t.Alloc.Namespace}
		job, known := jobs[of]
		if !known {
			if job, err = t.job(ctx); err != nil {
				return nil, err
			}
			jobs[of] = job
		}
		for _, a := range actionsOf(job, t) {
			actions = append(actions, Action{t, a})
		}
	}
	return actions, nil
}

func (t *Task) job(ctx context.Context) (*api.Job, error) {
	q, cancel := t.Server.query(ctx)
	defer cancel()
	q.Namespace = t.Alloc.Namespace
	job, _, err := t.Server.API.Jobs().Info(t.Alloc.JobID, q)
	if err != nil {
		return nil, t.Server.explain(q.Context(), fmt.Sprintf("look at job %q", t.Alloc.JobID), err)
	}
	return job, nil
}

// actionsOf are those that a job has for a task; none that it does not have.
func actionsOf(job *api.Job, t *Task) []*api.Action {
	if g := job.LookupTaskGroup(t.Alloc.TaskGroup); g != nil {
		for _, task := range g.Tasks {
			if task.Name == t.Name {
				return task.Actions
			}
		}
	}
	return nil
}
