package trace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// routine are the types of events that spans show.
var routine = map[string]bool{
	api.TaskReceived: true, api.TaskSetup: true, api.TaskStarted: true, api.TaskTerminated: true, api.TaskRestarting: true,
	api.TaskKilling: true, api.TaskKilled: true, api.TaskLeaderDead: true, event.TaskMainDead: true,
	event.TaskPausing: true, event.TaskResuming: true,
}

// happened takes in an event of the task, which is already part of its state.
func (r *row) happened(at time.Time, e *api.TaskEvent) {
	at = r.reach(at)
	r.marks.add(Mark{
		Time: at, Kind: TaskEvent, Title: e.Type, Detail: e.DisplayMessage, Weight: r.state.Weigh(e), Routine: routine[e.Type],
	})
	switch e.Type {
	case api.TaskReceived:
		r.received(at)
	case api.TaskSetup, api.TaskDownloadingArtifacts, api.TaskDriverMessage:
		r.setUp(at)
	case api.TaskStarted:
		r.runs(at)
	case event.TaskMainDead, api.TaskLeaderDead, api.TaskSiblingFailed:
		r.blamed = true
	case api.TaskKilling, api.TaskRestartSignal, event.TaskPausing, event.TaskWaitingShutdownDelay:
		r.stops(at)
	case api.TaskTerminated:
		r.ends(at)
	case api.TaskRestarting:
		r.restarts(at, e)
	}
}

// reach extends the row to a moment, and returns it. After a delay comes the setup of
// the next attempt.
func (r *row) reach(at time.Time) time.Time {
	r.last = later(r.last, at)
	if s := r.open(); s != nil && s.Kind == Restarting && r.due.After(s.From) && r.due.Before(r.last) {
		r.begin(Setup, r.due)
	}
	return r.last
}

// changed takes in the state of the task.
func (r *row) changed(at time.Time, s event.TaskState) {
	at = r.reach(at)
	switch open := r.open(); {
	case s.State == "dead":
		r.ends(at)
	case s.Halted:
		r.begin(Waiting, at).For = "its start by a user"
	case s.State == "running" && open != nil && open.Kind == Stopping:
	case s.State == "running":
		r.runs(at) // a cluster may have forgotten the event
	case s.State == "pending" && len(r.spans) == 0:
		r.received(at)
	}
}

// received begins the first wait, which is the setup if there is nothing to wait
// for.
func (r *row) received(at time.Time) {
	if len(r.spans) > 0 {
		return
	}
	if old := r.alloc.replaces; old != nil && !old.ended.IsZero() && old.ended.Before(at) {
		s := r.begin(Waiting, old.ended)
		s.For, s.after, s.when = "its placement", old.failed(), old.ended
		if old.state.Status == api.AllocClientStatusFailed {
			s.For = "the reschedule delay"
		}
	}
	kind := Setup
	if r.stage == Unknown || r.waits() != "" {
		kind = Waiting
	}
	s := r.begin(kind, at)
	s.For = r.waits()
}

// waits describes what the task waits for, or returns "".
func (r *row) waits() string {
	if r.stage == Poststop {
		return "the end of all other tasks"
	}
	ends, starts := r.stage.awaits()
	var parts []string
	if names := r.alloc.tasks(ends); len(names) > 0 {
		parts = append(parts, "the end of "+strings.Join(names, ", "))
	}
	if names := r.alloc.tasks(starts); len(names) > 0 {
		parts = append(parts, "the start of "+strings.Join(names, ", "))
	}
	return strings.Join(parts, ", ")
}

// released returns the row whose end or start let the task begin at a moment, and
// which of them it was. It returns nil if the task waited for nothing.
func (r *row) released(at time.Time) (by *row, what string, when time.Time) {
	ends, starts := r.stage.awaits()
	for _, o := range r.alloc.rows {
		if o == r {
			continue
		}
		if slices.Contains(ends, o.stage) && !o.over.IsZero() && !o.over.After(at) && !o.over.Before(when) {
			by, what, when = o, "the end of ", o.over
		}
		if slices.Contains(starts, o.stage) && !o.started.IsZero() && !o.started.After(at) && !o.started.Before(when) {
			by, what, when = o, "the start of ", o.started
		}
	}
	if by == nil {
		return nil, "", time.Time{}
	}
	return by, what + by.task, when
}

// setUp begins the setup, unless it has begun.
func (r *row) setUp(at time.Time) {
	s := r.open()
	switch {
	case s == nil && len(r.spans) == 0:
		r.begin(Setup, at)
	case s == nil:
	case s.Kind == Waiting:
		r.release(s, at)
	case s.Kind == Restarting:
		r.begin(Setup, at)
	}
}

// release ends a wait at the moment when its reason was over. The rest until now is
// setup.
func (r *row) release(s *span, at time.Time) {
	by, what, when := r.released(at)
	if by == nil && s.For == "" {
		s.Kind = Setup
		return
	}
	if by != nil {
		s.For, s.after, s.when = what, by, when
		at = later(s.From, when)
	}
	r.begin(Setup, at)
}

// runs begins an attempt.
func (r *row) runs(at time.Time) {
	switch s := r.open(); {
	case s == nil:
	case s.Kind == Running:
		return
	case s.Kind == Waiting:
		r.release(s, at)
	}
	r.begin(Running, at)
	if r.started.IsZero() {
		r.started = at
	}
	r.over, r.due, r.blamed = time.Time{}, time.Time{}, false
}

// stops begins the end of an attempt.
func (r *row) stops(at time.Time) {
	s := r.open()
	if s == nil || s.Kind != Running {
		return
	}
	next := r.begin(Stopping, at)
	if !r.blamed {
		return
	}
	for _, o := range r.alloc.rows {
		if o != r && !o.over.IsZero() && !o.over.After(at) && !o.over.Before(next.when) {
			next.after, next.when = o, o.over
		}
	}
}

// ends ends an attempt, or a task that never started.
func (r *row) ends(at time.Time) {
	r.end(at)
	if r.over.IsZero() {
		r.over = at
	}
}

// restarts begins the delay before the next attempt.
func (r *row) restarts(at time.Time, e *api.TaskEvent) {
	from := at
	if r.open() == nil && !r.over.IsZero() {
		from = r.over
	}
	r.begin(Restarting, from)
	r.due = time.Time{}
	if delay, err := strconv.ParseInt(e.Details["start_delay"], 10, 64); err == nil && delay >= 0 {
		r.due = at.Add(time.Duration(delay))
	}
}
