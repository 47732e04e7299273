package client

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// statsAsked limits the concurrent requests for statistics of allocations.
const statsAsked = 16

// Stats returns the resource usage of tasks, and the errors of allocations that
// did not answer. It omits tasks without statistics, such as dead ones.
func Stats(ctx context.Context, tasks []*Task) (used map[*Task]*api.TaskResourceUsage, errs []error) {
	of := Allocs(tasks)
	answers := make([]*api.AllocResourceUsage, len(of))
	errs = make([]error, len(of))
	var asking sync.WaitGroup
	places := make(chan struct{}, statsAsked)
	for i, t := range of {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			answers[i], errs[i] = statsOf(ctx, t)
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

// statsOf returns the resource usage of the task's allocation.
func statsOf(ctx context.Context, t *Task) (*api.AllocResourceUsage, error) {
	s := t.Server.in(t.Alloc.Namespace)
	used, _, err := ask(ctx, s, fmt.Sprintf("get the statistics of allocation %q", t.Alloc.Name), 0, func(q *api.QueryOptions) (*api.AllocResourceUsage, *api.QueryMeta, error) {
		used, err := s.API.Allocations().Stats(t.alloc(), q)
		return used, &api.QueryMeta{}, err
	})
	return used, err
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
