package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// allocation is the published state of an allocation.
type allocation struct {
	*event.Alloc
	replaces string // ID of the allocation that it replaces
	status   event.AllocStatus
	healthy  *bool
	tasks    map[string]*task
	failedAt uint64 // index of its failure
}

func newAllocation(s *api.AllocationListStub, parent, replaces string) *allocation {
	id := &event.Alloc{Job: s.JobID, Group: s.TaskGroup, Name: s.Name, ID: s.ID, Parent: parent}
	return &allocation{Alloc: id, replaces: replaces, tasks: map[string]*task{}}
}

func (a *allocation) event(at time.Time, body event.Body) event.Event {
	return event.Event{Time: at, Alloc: a.Alloc, Body: body}
}

func (a *allocation) first(s *api.AllocationListStub) event.Event {
	a.status = event.AllocStatus{
		Status: api.AllocClientStatusPending, Description: "No tasks have started", Replaces: a.replaces, Retry: -1,
	}
	return a.event(unix(s.CreateTime), a.status)
}

// taskEvents returns the new events of the tasks, in the order of their times.
func (a *allocation) taskEvents(s *api.AllocationListStub) (all []event.Event) {
	for name, state := range s.TaskStates {
		t := a.tasks[name]
		if t == nil {
			t = &task{state: event.TaskState{State: "pending"}}
			a.tasks[name] = t
		}
		for _, e := range t.events(state) {
			e.Alloc, e.Task = a.Alloc, name
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b event.Event) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Task, b.Task)) })
	return all
}

// events returns the new events of the allocation as a whole. If it has failed, it
// is replaced after retry; never if that is negative.
func (a *allocation) events(s *api.AllocationListStub, retry time.Duration) (all []event.Event) {
	at := unix(s.ModifyTime)
	now := event.AllocStatus{Status: s.ClientStatus, Description: s.ClientDescription, Replaces: a.replaces, Retry: retry}
	if now.Status != a.status.Status {
		a.status = now
		all = append(all, a.event(at, now))
	}
	stops := s.DesiredStatus != api.AllocDesiredStatusRun // a stopped allocation counts as unhealthy, too
	if d := s.DeploymentStatus; d != nil && d.Healthy != nil && !stops && (a.healthy == nil || *a.healthy != *d.Healthy) {
		a.healthy = d.Healthy
		all = append(all, a.event(at, event.AllocHealth{Healthy: *d.Healthy}))
	}
	return all
}

// reported holds the published state of the services and checks of an allocation.
type reported struct {
	services map[string]event.Service // by ID
	checks   map[string]event.Check   // by ID
}

// task is the published state of a task.
type task struct {
	state  event.TaskState
	last   *api.TaskEvent
	latest time.Time // of its events
}

// events returns the new events of the task. A server knows the last ten task
// events and the current state; the states in between follow from the events.
func (t *task) events(s *api.TaskState) (all []event.Event) {
	add := func(at time.Time, body event.Body) { all = append(all, event.Event{Time: at, Body: body}) }
	for _, e := range t.unseen(s.Events) {
		t.last = e
		if at := unix(e.Time); at.After(t.latest) { // else the order of the events counts, not their clock
			t.latest = at
		}
		add(t.latest, event.TaskEvent{TaskEvent: e})
		if t.changes(e, s.Restarts) {
			add(t.latest, t.state)
		}
	}
	halted := s.State == "pending" && event.Halted(s.Events)
	if t.state.State != s.State || t.state.Failed != s.Failed || t.state.Restarts != s.Restarts || t.state.Halted != halted {
		t.state.State, t.state.Failed, t.state.Restarts, t.state.Halted = s.State, s.Failed, s.Restarts, halted
		add(t.changed(s), t.state)
	}
	return all
}

// unseen returns the events after the last published one, or all if the server
// has dropped that one.
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

// changes applies an event to the state, and reports whether that changes it or the
// task runs afresh. The state of the server comes last, and wins.
func (t *task) changes(e *api.TaskEvent, restarts uint64) bool {
	before := t.state
	switch e.Type {
	case api.TaskTerminated:
		if code, err := strconv.Atoi(e.Details["exit_code"]); err == nil {
			t.state.ExitCode = &code
		}
		return false
	case api.TaskStarted:
		t.state.State, t.state.Halted = running, false
		return true // the event of its restart may be gone
	case api.TaskRestarting:
		t.state.State, t.state.Restarts = "pending", min(t.state.Restarts+1, restarts)
	}
	return t.state.State != before.State || t.state.Restarts != before.Restarts
}

// changed returns when the task entered its state.
func (t *task) changed(s *api.TaskState) time.Time {
	switch {
	case s.State == "dead" && !s.FinishedAt.IsZero():
		return s.FinishedAt
	case s.State == running && !s.StartedAt.IsZero() && t.last == nil:
		return s.StartedAt
	case t.last != nil:
		return unix(t.last.Time)
	}
	return time.Now()
}

// unix converts a time of the cluster. An old version may omit it; the result
// is now then.
func unix(ns int64) time.Time {
	if ns == 0 {
		return time.Now()
	}
	return time.Unix(0, ns)
}
