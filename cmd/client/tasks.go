package client

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Job is a job of a server.
type Job struct {
	*api.JobListStub
	Server *Server
}

// Key returns what identifies the job at its server.
func (j *Job) Key() string { return j.Server.Key(j.Namespace, j.ID) }

// Name returns the name of the job for users, which commands take.
func (j *Job) Name() string { return event.JobName(j.Key()) }

// Is reports whether a canonical job is a version of the job.
func (j *Job) Is(version *api.Job) bool {
	return j.Key() == j.Server.Key(*version.Namespace, *version.ID)
}

// Log is the part of a task's output to read.
type Log struct {
	Stream event.Stream
	Tail   int       // number of last lines; negative: all that is kept
	Since  time.Time // not for a server, which keeps no times; zero: all
}

// Output is an output that is read. Time returns when the output of the latest Read
// was read from the task or, from a server, has arrived.
type Output interface {
	io.ReadCloser
	Time() time.Time
}

// Task is a task of an allocation.
type Task struct {
	Server *Server
	Alloc  *api.AllocationListStub
	Name   string         // empty: the tasks of the allocation are not known yet
	State  *api.TaskState // never nil
	Index  int            // of the allocation in its group

	outlived bool // see Outlived

	kept func(Log) (Output, error) // opens outputs of a run that has ended
}

// Kept returns a task of a run that has ended, whose outputs open opens. It has no
// server.
func Kept(alloc *api.AllocationListStub, name string, state *api.TaskState, open func(Log) (Output, error)) *Task {
	return &Task{Server: &Server{kept: true}, Alloc: alloc, Name: name, State: state, Index: IndexOf(alloc.Name), kept: open}
}

// Task returns a task of an allocation that events of the server's run name. Its state
// is not known.
func (s *Server) Task(alloc *event.Alloc, name string) *Task {
	namespace, id := event.SplitJobKey(alloc.Job)
	if s.namespace != "" && s.namespace != api.AllNamespacesNamespace {
		namespace = s.namespace
	}
	return &Task{
		Server: s, Name: name, State: &api.TaskState{}, Index: IndexOf(alloc.Name),
		Alloc: &api.AllocationListStub{ID: alloc.ID, Name: alloc.Name, JobID: id, Namespace: namespace, TaskGroup: alloc.Group},
	}
}

func (s *Server) split(stubs []*api.AllocationListStub) []*Task {
	type key struct{ namespace, name string }
	newest := map[key]uint64{}
	for _, a := range stubs {
		at := key{a.Namespace, a.Name}
		newest[at] = max(newest[at], a.CreateIndex)
	}
	var tasks []*Task
	for _, a := range stubs {
		t := Task{Server: s, Alloc: a, State: &api.TaskState{State: "pending"}, Index: IndexOf(a.Name)}
		t.outlived = t.Ended() && a.CreateIndex < newest[key{a.Namespace, a.Name}]
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

func sortTasks(tasks []*Task) {
	slices.SortStableFunc(tasks, func(a, b *Task) int {
		return cmp.Or(
			strings.Compare(a.JobKey(), b.JobKey()), strings.Compare(a.Alloc.TaskGroup, b.Alloc.TaskGroup),
			a.Index-b.Index, cmp.Compare(a.Alloc.CreateTime, b.Alloc.CreateTime), strings.Compare(a.Name, b.Name),
		)
	})
}

// IndexOf returns the index in the name of an allocation, <job>.<group>[<index>].
func IndexOf(alloc string) int {
	index, _ := strconv.Atoi(strings.TrimSuffix(alloc[strings.LastIndexByte(alloc, '[')+1:], "]"))
	return index
}

// JobKey returns what identifies the task's job at its server.
func (t *Task) JobKey() string { return t.Server.Key(t.Alloc.Namespace, t.Alloc.JobID) }

// Job returns the name of the task's job for users, which commands take.
func (t *Task) Job() string { return event.JobName(t.JobKey()) }

// EventAlloc returns the allocation of the task in the form of events.
func (t *Task) EventAlloc() *event.Alloc {
	return &event.Alloc{Job: t.JobKey(), Group: t.Alloc.TaskGroup, Name: t.Alloc.Name, ID: t.Alloc.ID}
}

// Outlived reports whether the task's allocation has ended and a later one has its
// name.
func (t *Task) Outlived() bool { return t.outlived }

// Replaced reports whether another allocation has replaced the task's.
func (t *Task) Replaced() bool { return t.Alloc.NextAllocation != "" || t.outlived }

// ExitCode returns the exit code of the task's latest run, or nil if none has
// ended.
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

// Running reports whether commands can run in the task.
func (t *Task) Running() bool { return t.State.State == "running" }

// Halted reports whether a user has stopped the task alone, so that it can be
// started.
func (t *Task) Halted() bool { return t.State.State == "pending" && event.Halted(t.State.Events) }

// Ran returns how long the task has run until it ended, or until now.
func (t *Task) Ran(now time.Time) time.Duration {
	switch {
	case t.State.StartedAt.IsZero():
		return 0
	case t.Halted():
		return max(0, t.lastEnd().Sub(t.State.StartedAt))
	case t.State.State != "dead" || t.State.FinishedAt.IsZero():
		return max(0, now.Sub(t.State.StartedAt))
	}
	return t.State.FinishedAt.Sub(t.State.StartedAt)
}

// lastEnd returns when the task's latest run ended, or the zero time.
func (t *Task) lastEnd() time.Time {
	for _, e := range slices.Backward(t.State.Events) {
		if e.Type == api.TaskTerminated {
			return time.Unix(0, e.Time)
		}
	}
	return time.Time{}
}

// Started reports whether the task has started, and so has output.
func (t *Task) Started() bool { return t.Name != "" && !t.State.StartedAt.IsZero() }

// Ended reports whether the tasks of the allocation write no more output.
func (t *Task) Ended() bool { return Ended(t.Alloc) }

// Ended reports whether no task of an allocation runs, or will run.
func Ended(a *api.AllocationListStub) bool {
	return (&api.Allocation{ClientStatus: a.ClientStatus}).ClientTerminalStatus()
}

func (t *Task) alloc() *api.Allocation {
	return &api.Allocation{ID: t.Alloc.ID, NodeID: t.Alloc.NodeID, Namespace: t.Alloc.Namespace}
}
