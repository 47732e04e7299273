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

// Kept is a task of a run that has ended, whose output open reads from its
// beginning. It has no server.
func Kept(alloc *api.AllocationListStub, name string, state *api.TaskState, open func(stream string) (io.ReadCloser, error)) *Task {
	return &Task{Server: &Server{}, Alloc: alloc, Name: name, State: state, Index: indexOf(alloc.Name), kept: open}
}

// List returns the tasks of all servers, those of a job alone if one is named,
// sorted by job, allocation and name. A server that is gone meanwhile has
// none; what could not be asked of the others is told beside.
func List(ctx context.Context, servers []*Server, job string) (tasks []*Task, failed []error) {
	lists, errs := make([][]*Task, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { lists[i], errs[i] = s.tasks(ctx, job) })
	}
	asking.Wait()
	tasks = slices.Concat(lists...)
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		return cmp.Or(
			strings.Compare(a.Alloc.JobID, b.Alloc.JobID), strings.Compare(a.Alloc.TaskGroup, b.Alloc.TaskGroup),
			a.Index-b.Index, cmp.Compare(a.Alloc.CreateTime, b.Alloc.CreateTime), strings.Compare(a.Name, b.Name),
		)
	})
	return tasks, failures(servers, errs)
}

// Job is a job of a server.
type Job struct {
	*api.JobListStub
	Server *Server
}

// ListJobs returns the jobs of all servers, sorted by ID, and what could not be
// asked of those that are not gone.
func ListJobs(ctx context.Context, servers []*Server) (jobs []Job, failed []error) {
	lists, errs := make([][]Job, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			var stubs []*api.JobListStub
			errs[i] = s.ask(ctx, "list the jobs", func(q *api.QueryOptions) (err error) {
				stubs, _, err = s.API.Jobs().List(q)
				return err
			})
			for _, stub := range stubs {
				lists[i] = append(lists[i], Job{stub, s})
			}
		})
	}
	asking.Wait()
	jobs = slices.Concat(lists...)
	slices.SortStableFunc(jobs, func(a, b Job) int { return strings.Compare(a.ID, b.ID) })
	return jobs, failures(servers, errs)
}

// failures are the errors of servers that are not gone.
func failures(servers []*Server, errs []error) (failed []error) {
	for i, err := range errs {
		if err != nil && (servers[i].Socket == "" || !Gone(err)) {
			failed = append(failed, err)
		}
	}
	return failed
}

// Gone reports whether an engine had ended before it was asked.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist)
}

func (s *Server) tasks(ctx context.Context, job string) ([]*Task, error) {
	var stubs []*api.AllocationListStub
	err := s.ask(ctx, "list the tasks", func(q *api.QueryOptions) (err error) {
		stubs, _, err = s.list(job, q)
		return err
	})
	return s.split(stubs), err
}

// list returns the allocations of a job or, without one, all.
func (s *Server) list(job string, q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
	if job != "" && s.namespace != api.AllNamespacesNamespace {
		return s.API.Jobs().Allocations(job, false, q)
	}
	stubs, meta, err := s.API.Allocations().List(q)
	if job != "" { // of any namespace
		stubs = slices.DeleteFunc(stubs, func(a *api.AllocationListStub) bool { return a.JobID != job })
	}
	return stubs, meta, err
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
