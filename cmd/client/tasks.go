package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Task is a task of an allocation.
type Task struct {
	Server *Server
	Alloc  *api.AllocationListStub
	Name   string         // empty: nothing is known yet of the allocation's tasks
	State  *api.TaskState // never nil
	Index  int            // of the allocation in its group

	outlived bool // a later allocation has the place of the task's, which has ended

	kept func(stream string) (io.ReadCloser, error) // of a run that has ended
}

// Kept returns a task of a run that has ended, whose outputs open opens at their
// beginning. It has no server.
func Kept(alloc *api.AllocationListStub, name string, state *api.TaskState, open func(stream string) (io.ReadCloser, error)) *Task {
	return &Task{Server: &Server{}, Alloc: alloc, Name: name, State: state, Index: indexOf(alloc.Name), kept: open}
}

// List returns the tasks of all servers, those of a job alone if one is named,
// sorted by job, allocation and name, and the errors of servers that did not
// answer. An engine that has just ended has no tasks and no error.
func List(ctx context.Context, servers []*Server, job string) (tasks []*Task, errs []error) {
	tasks, errs = each(servers, func(s *Server) ([]*Task, error) {
		tasks, _, err := s.Tasks(ctx, job, 0)
		return tasks, err
	})
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		return cmp.Or(
			strings.Compare(a.Alloc.JobID, b.Alloc.JobID), strings.Compare(a.Alloc.TaskGroup, b.Alloc.TaskGroup),
			a.Index-b.Index, cmp.Compare(a.Alloc.CreateTime, b.Alloc.CreateTime), strings.Compare(a.Name, b.Name),
		)
	})
	return tasks, errs
}

// ListJobs returns the jobs of all servers, sorted by ID, and errors as List
// does.
func ListJobs(ctx context.Context, servers []*Server) (jobs []Job, errs []error) {
	jobs, errs = each(servers, func(s *Server) (jobs []Job, err error) {
		stubs, _, err := ask(ctx, s, "list the jobs", 0, s.API.Jobs().List)
		for _, stub := range stubs {
			jobs = append(jobs, Job{stub, s})
		}
		return jobs, err
	})
	slices.SortStableFunc(jobs, func(a, b Job) int { return strings.Compare(a.ID, b.ID) })
	return jobs, errs
}

// each asks all servers at once.
func each[T any](servers []*Server, ask func(*Server) ([]T, error)) (all []T, errs []error) {
	lists, failed := make([][]T, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { lists[i], failed[i] = ask(s) })
	}
	asking.Wait()
	for i, err := range failed {
		if err != nil && (servers[i].Socket == "" || !Gone(err)) {
			errs = append(errs, err)
		}
	}
	return slices.Concat(lists...), errs
}

// Gone reports whether an engine had ended before it was asked.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

// split takes allocations apart into tasks.
func (s *Server) split(stubs []*api.AllocationListStub) []*Task {
	type place struct{ namespace, name string }
	newest := map[place]uint64{}
	for _, a := range stubs {
		at := place{a.Namespace, a.Name}
		newest[at] = max(newest[at], a.CreateIndex)
	}
	var tasks []*Task
	for _, a := range stubs {
		t := Task{Server: s, Alloc: a, State: &api.TaskState{State: "pending"}, Index: indexOf(a.Name)}
		t.outlived = t.Ended() && a.CreateIndex < newest[place{a.Namespace, a.Name}]
		for name, state := range a.TaskStates {
			of := t
			of.Name, of.State = name, state
			tasks = append(tasks, &of)
		}
		if len(a.TaskStates) == 0 {
			tasks = append(tasks, &t)
		}
	}
	return tasks
}

// indexOf returns the index in the name of an allocation, <job>.<group>[<index>].
func indexOf(alloc string) int {
	index, _ := strconv.Atoi(strings.TrimSuffix(alloc[strings.LastIndexByte(alloc, '[')+1:], "]"))
	return index
}

// EventAlloc returns the allocation of the task as events name it.
func (t *Task) EventAlloc() *event.Alloc {
	return &event.Alloc{Job: t.Alloc.JobID, Group: t.Alloc.TaskGroup, Name: t.Alloc.Name, ID: t.Alloc.ID}
}

// Running reports whether a command can be run in the task.
func (t *Task) Running() bool { return t.State.State == "running" }

// Outlived reports whether the task has ended, and a later allocation has its
// place.
func (t *Task) Outlived() bool { return t.outlived }

// Replaced reports whether another allocation has the place of the task's.
func (t *Task) Replaced() bool { return t.Alloc.NextAllocation != "" || t.outlived }

// ExitCode returns the code with which the task ended last, nil if it has not.
func (t *Task) ExitCode() *int {
	for _, e := range slices.Backward(t.State.Events) {
		if e.Type == api.TaskTerminated {
			if code, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
				return &code
			}
		}
	}
	return nil
}

// Ran is how long the task has run until it ended, or until now.
func (t *Task) Ran(now time.Time) time.Duration {
	switch {
	case t.State.StartedAt.IsZero():
		return 0
	case t.State.State != "dead" || t.State.FinishedAt.IsZero():
		return max(0, now.Sub(t.State.StartedAt))
	}
	return t.State.FinishedAt.Sub(t.State.StartedAt)
}
