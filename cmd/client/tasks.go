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
func List(ctx context.Context, servers []*Server, job string) (tasks []*Task, problems []error) {
	lists, errs := make([][]*Task, len(servers)), make([]error, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() { lists[i], errs[i] = s.tasks(ctx, job) })
	}
	asking.Wait()
	for i, err := range errs {
		if err != nil && (servers[i].Socket == "" || !Gone(err)) {
			problems = append(problems, err)
		}
	}
	tasks = slices.Concat(lists...)
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		return cmp.Or(
			strings.Compare(a.Alloc.JobID, b.Alloc.JobID), strings.Compare(a.Alloc.TaskGroup, b.Alloc.TaskGroup),
			a.Index-b.Index, cmp.Compare(a.Alloc.CreateTime, b.Alloc.CreateTime), strings.Compare(a.Name, b.Name),
		)
	})
	return tasks, problems
}

// Job is a job of a server.
type Job struct {
	*api.JobListStub
	Server *Server
}

// ListJobs returns the jobs of all servers that answer.
func ListJobs(ctx context.Context, servers []*Server) []Job {
	lists := make([][]Job, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			var stubs []*api.JobListStub
			// List of tasks tells of who does not answer.
			_ = s.ask(ctx, "list the jobs", func(q *api.QueryOptions) (err error) {
				stubs, _, err = s.API.Jobs().List(q)
				return err
			})
			for _, stub := range stubs {
				lists[i] = append(lists[i], Job{stub, s})
			}
		})
	}
	asking.Wait()
	return slices.Concat(lists...)
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
	if job == "" {
		return s.API.Allocations().List(q)
	}
	return s.API.Jobs().Allocations(job, false, q)
}

// split takes allocations apart into tasks.
func (s *Server) split(stubs []*api.AllocationListStub) []*Task {
	var tasks []*Task
	for _, a := range stubs {
		index := indexOf(a.Name)
		for name, state := range a.TaskStates {
			tasks = append(tasks, &Task{Server: s, Alloc: a, Name: name, State: state, Index: index})
		}
		if len(a.TaskStates) == 0 {
			tasks = append(tasks, &Task{Server: s, Alloc: a, State: &api.TaskState{State: "pending"}, Index: index})
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

// Replaced reports whether another allocation runs in the place of the task's.
func (t *Task) Replaced() bool { return t.Alloc.NextAllocation != "" }

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
