package cluster

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// allocation is what has been told of an allocation.
type allocation struct {
	*event.Alloc
	replaces string // ID of the one in whose place it runs
	status   event.AllocStatus
	healthy  *bool
	tasks    map[string]*task
	failedAt uint64 // index at which it was seen to have failed
}

// news is something that happened to an allocation or one of its tasks.
type news struct {
	at   time.Time
	task string
	body event.Body
}

func newAllocation(s *api.AllocationListStub, parent, replaces string) *allocation {
	id := &event.Alloc{Job: s.JobID, Group: s.TaskGroup, Name: s.Name, ID: s.ID, Parent: parent}
	return &allocation{Alloc: id, replaces: replaces, tasks: map[string]*task{}}
}

// begun tells of the allocation when it is seen for the first time.
func (a *allocation) begun(s *api.AllocationListStub) news {
	a.status = event.AllocStatus{
		Status: api.AllocClientStatusPending, Description: "No tasks have started", Replaces: a.replaces, Retry: -1,
	}
	return news{at: unix(s.CreateTime), body: a.status}
}

// happened returns what is new about the tasks, in the order of its times.
func (a *allocation) happened(s *api.AllocationListStub) (all []news) {
	for name, state := range s.TaskStates {
		t := a.tasks[name]
		if t == nil {
			t = &task{state: event.TaskState{State: "pending"}}
			a.tasks[name] = t
		}
		for _, n := range t.happened(state) {
			n.task = name
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(a, b news) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.task, b.task)
	})
	return all
}

// became returns what the allocation as a whole has become. A failed one is
// replaced after retry, or will not be if that is negative.
func (a *allocation) became(s *api.AllocationListStub, retry time.Duration) (all []news) {
	at := unix(s.ModifyTime)
	now := event.AllocStatus{Status: s.ClientStatus, Description: s.ClientDescription, Replaces: a.replaces, Retry: retry}
	if now.Status != a.status.Status {
		a.status = now
		all = append(all, news{at: at, body: now})
	}
	stops := s.DesiredStatus != api.AllocDesiredStatusRun // what is stopped is called unhealthy, too
	if d := s.DeploymentStatus; d != nil && d.Healthy != nil && !stops && (a.healthy == nil || *a.healthy != *d.Healthy) {
		a.healthy = d.Healthy
		all = append(all, news{at: at, body: event.AllocHealth{Healthy: *d.Healthy}})
	}
	return all
}

// task is what has been told of a task.
type task struct {
	state event.TaskState
	last  *api.TaskEvent
}

// happened returns what is new. A server knows the last ten events and the
// state; what the state was between the events follows from them.
func (t *task) happened(s *api.TaskState) (all []news) {
	for _, e := range t.unseen(s.Events) {
		t.last = e
		all = append(all, news{at: unix(e.Time), body: event.TaskEvent{TaskEvent: e}})
		if t.changes(e, s.Restarts) {
			all = append(all, news{at: unix(e.Time), body: t.state})
		}
	}
	if t.state.State != s.State || t.state.Failed != s.Failed || t.state.Restarts != s.Restarts {
		t.state.State, t.state.Failed, t.state.Restarts = s.State, s.Failed, s.Restarts
		all = append(all, news{at: t.changed(s), body: t.state})
	}
	return all
}

// unseen returns the events behind the last one that was told, all when that is
// forgotten.
func (t *task) unseen(events []*api.TaskEvent) []*api.TaskEvent {
	if t.last != nil {
		for i, e := range slices.Backward(events) {
			if e.Time == t.last.Time && e.Type == t.last.Type {
				return events[i+1:]
			}
		}
	}
	return events
}

// changes takes in what an event means for the state, and reports whether that
// is another one by it. What the server says of the state comes last, and wins.
func (t *task) changes(e *api.TaskEvent, restarts uint64) bool {
	before := t.state
	switch e.Type {
	case api.TaskTerminated:
		if code, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
			t.state.ExitCode = &code
		}
		return false
	case api.TaskStarted:
		t.state.State = "running"
	case api.TaskRestarting:
		t.state.State, t.state.Restarts = "pending", min(t.state.Restarts+1, restarts)
	}
	return t.state.State != before.State || t.state.Restarts != before.Restarts
}

// changed is when the task came into its state.
func (t *task) changed(s *api.TaskState) time.Time {
	switch {
	case s.State == "dead" && !s.FinishedAt.IsZero():
		return s.FinishedAt
	case s.State == "running" && !s.StartedAt.IsZero() && t.last == nil:
		return s.StartedAt
	case t.last != nil:
		return unix(t.last.Time)
	}
	return time.Now()
}

// unix is a time of the cluster; some old versions leave some out.
func unix(ns int64) time.Time {
	if ns == 0 {
		return time.Now()
	}
	return time.Unix(0, ns)
}
