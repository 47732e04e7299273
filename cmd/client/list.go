package client

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// List returns the tasks of all servers, or those of one job, sorted by job,
// allocation and name, and the errors of servers that did not answer. An engine
// that has just ended has no tasks and no error.
func List(ctx context.Context, servers []*Server, job string) (tasks []*Task, errs []error) {
	tasks, errs = each(servers, func(s *Server) ([]*Task, error) {
		tasks, _, err := s.Tasks(ctx, job, 0)
		return tasks, err
	})
	sortTasks(tasks)
	return tasks, errs
}

// ListJobs returns the jobs of all servers, sorted by ID, and errors like List.
func ListJobs(ctx context.Context, servers []*Server) (jobs []Job, errs []error) {
	jobs, errs = each(servers, func(s *Server) (jobs []Job, err error) {
		stubs, _, err := ask(ctx, s, "list the jobs", 0, s.API.Jobs().List)
		for _, stub := range stubs {
			jobs = append(jobs, Job{stub, s})
		}
		return jobs, err
	})
	slices.SortStableFunc(jobs, func(a, b Job) int { return strings.Compare(a.Key(), b.Key()) })
	return jobs, errs
}

// each calls ask for all servers concurrently.
func each[T any](servers []*Server, ask func(*Server) ([]T, error)) (all []T, errs []error) {
	lists, failed := make([][]T, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { lists[i], failed[i] = ask(s) })
	}
	asking.Wait()
	for i, err := range failed {
		if err != nil && !servers[i].Died(err) {
			errs = append(errs, err)
		}
	}
	return slices.Concat(lists...), errs
}
