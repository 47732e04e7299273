package client

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// order returns the options of a request that changes something, which may
// take as long as it takes.
func (s *Server) order(ctx context.Context, namespace string) *api.QueryOptions {
	return (&api.QueryOptions{Namespace: namespace}).WithContext(ctx)
}

func (t *Task) alloc() *api.Allocation {
	return &api.Allocation{ID: t.Alloc.ID, NodeID: t.Alloc.NodeID, Namespace: t.Alloc.Namespace}
}

// Restart restarts the task and returns when its old run has ended.
func (t *Task) Restart(ctx context.Context) error {
	err := t.Server.API.Allocations().Restart(t.alloc(), t.Name, t.Server.order(ctx, t.Alloc.Namespace))
	if err != nil {
		return t.Server.explain(ctx, fmt.Sprintf("restart task %q", t.Name), err)
	}
	return nil
}

// RestartAlloc restarts all tasks of the task's allocation, also those that
// have ended, in the order of their lifecycle.
func (t *Task) RestartAlloc(ctx context.Context) error {
	err := t.Server.API.Allocations().RestartAllTasks(t.alloc(), t.Server.order(ctx, t.Alloc.Namespace))
	if err != nil {
		return t.Server.explain(ctx, fmt.Sprintf("restart allocation %q", t.Alloc.Name), err)
	}
	return nil
}

// Signal sends the task a signal, by Nomad's name.
func (t *Task) Signal(ctx context.Context, name string) error {
	err := t.Server.API.Allocations().Signal(t.alloc(), t.Server.order(ctx, t.Alloc.Namespace), t.Name, name)
	if err != nil {
		return t.Server.explain(ctx, fmt.Sprintf("signal task %q", t.Name), err)
	}
	return nil
}

// statsAsked is how many allocations are asked for their statistics at once.
const statsAsked = 16

// Stats returns what the tasks use now, by task, and what could not be asked. A
// task that has none, such as one that has just ended, is left out.
func Stats(ctx context.Context, tasks []*Task) (used map[*Task]*api.TaskResourceUsage, failed []error) {
	of := Allocs(tasks)
	answers, errs := make([]*api.AllocResourceUsage, len(of)), make([]error, len(of))
	var asking sync.WaitGroup
	places := make(chan struct{}, statsAsked)
	for i, t := range of {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			answers[i], errs[i] = t.stats(ctx)
		})
	}
	asking.Wait()
	used = map[*Task]*api.TaskResourceUsage{}
	for _, t := range tasks {
		i := slices.IndexFunc(of, func(o *Task) bool { return o.Alloc.ID == t.Alloc.ID })
		if answers[i] == nil {
			continue
		}
		if u := answers[i].Tasks[t.Name]; u != nil && u.ResourceUsage != nil {
			used[t] = u
		}
	}
	return used, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// stats asks for those of the task's allocation.
func (t *Task) stats(ctx context.Context) (*api.AllocResourceUsage, error) {
	q, cancel := t.Server.query(ctx)
	defer cancel()
	q.Namespace = t.Alloc.Namespace
	all, err := t.Server.API.Allocations().Stats(t.alloc(), q)
	if err != nil {
		return nil, t.Server.explain(q.Context(), fmt.Sprintf("get the statistics of allocation %q", t.Alloc.Name), err)
	}
	return all, nil
}

// Dispatch runs a parameterized job and returns the ID of the job that it runs
// as.
func (j *Job) Dispatch(ctx context.Context, meta map[string]string, payload []byte) (id string, err error) {
	q := (&api.WriteOptions{Namespace: j.Namespace}).WithContext(ctx)
	answer, _, err := j.Server.API.Jobs().Dispatch(j.ID, meta, payload, "", q)
	if err != nil {
		return "", j.Server.explain(ctx, fmt.Sprintf("dispatch job %q", j.ID), err)
	}
	return answer.DispatchedJobID, nil
}

// Allocs returns one task of each allocation that tasks belong to.
func Allocs(tasks []*Task) []*Task {
	var first []*Task
	for _, t := range tasks {
		if !slices.ContainsFunc(first, func(f *Task) bool { return f.Alloc.ID == t.Alloc.ID }) {
			first = append(first, t)
		}
	}
	return first
}
