package trace

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Limits of the spans of a row: when there are twice as many as are kept, the middle is
// merged.
const (
	firstSpans = 16
	lastSpans  = 48
)

// row is a task of an allocation, in the making.
type row struct {
	alloc *alloc
	task  string
	state *fold.Task
	stage Stage

	spans   []span // only the last one may be open
	last    time.Time
	started time.Time // first start; zero: never
	over    time.Time // end of the latest attempt; zero while it runs
	due     time.Time // end of the delay before the next attempt
	blamed  bool      // another task is the reason for the next order to stop
	omitted int       // spans that were merged
	marks   marks
}

// span is a span in the making.
type span struct {
	Span
	after *row      // see Span.After
	when  time.Time // when that row started or ended
}

// open returns the span that goes on, or nil.
func (r *row) open() *span {
	if n := len(r.spans); n > 0 && r.spans[n-1].Open {
		return &r.spans[n-1]
	}
	return nil
}

// begin ends the open span and begins another one.
func (r *row) begin(kind Kind, at time.Time) *span {
	r.end(at)
	if n := len(r.spans); n > 0 && at.Before(r.spans[n-1].To) {
		at = r.spans[n-1].To
	}
	if len(r.spans) == 2*(firstSpans+lastSpans) {
		r.merge()
	}
	r.spans = append(r.spans, span{Span: Span{Kind: kind, From: at, To: at, Open: true, Count: 1}})
	return &r.spans[len(r.spans)-1]
}

// end ends the open span. One that took no time is dropped, unless the task ran.
func (r *row) end(at time.Time) {
	s := r.open()
	if s == nil {
		return
	}
	s.Open = false
	if at.After(s.From) {
		s.To = at
	}
	if s.Took() == 0 && s.Kind != Running {
		r.spans = r.spans[:len(r.spans)-1]
	}
}

// merge merges the middle of the spans.
func (r *row) merge() {
	to := len(r.spans) - lastSpans
	whole := span{Span: Span{Kind: Running, From: r.spans[firstSpans].From, To: r.spans[to-1].To, Count: max(1, attempts(r.spans[firstSpans:to]))}}
	r.omitted += to - firstSpans - 1
	r.spans = append(append(r.spans[:firstSpans:firstSpans], whole), r.spans[to:]...)
}

// attempts counts the attempts in spans.
func attempts(spans []span) (n int) {
	for _, s := range spans {
		if s.Kind == Running {
			n += s.Count
		}
	}
	return n
}

// absorb merges the row of a later allocation into this one.
func (r *row) absorb(o *row) {
	spans := append(r.spans, o.spans...)
	if len(spans) > 0 {
		from, to := spans[0].From, spans[0].To
		for _, s := range spans {
			to = later(to, s.To)
		}
		r.omitted += len(spans) - 1
		r.spans = []span{{Span: Span{Kind: Running, From: from, To: to, Count: max(1, attempts(spans))}}}
	}
	r.marks.absorb(&o.marks)
	r.omitted += o.omitted
	r.state, r.over, r.last = o.state, o.over, later(r.last, o.last)
	o.spans = nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

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

// failed returns the row at which an allocation failed, or else the one that ended
// last; nil if there is none.
func (a *alloc) failed() (last *row) {
	for _, r := range a.rows {
		if f := a.state.Failure; f != nil && f.Task.Name == r.task {
			return r
		}
		if last == nil || r.over.After(last.over) {
			last = r
		}
	}
	return last
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

// tasks returns the names of the tasks of some stages.
func (a *alloc) tasks(stages []Stage) (names []string) {
	for _, name := range a.tasksOfJob {
		if slices.Contains(stages, a.stages[name]) {
			names = append(names, name)
		}
	}
	return names
}

// released returns the row whose end or start let the task begin at a moment, and what
// it was; nil if it waited for nothing.
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

// ran returns for how long the task has run until its latest event.
func (r *row) ran() time.Duration {
	if r.started.IsZero() {
		return 0
	}
	return r.last.Sub(r.started)
}

// row returns the row of a trace that ends at a moment.
func (r *row) row(end time.Time) *Row {
	row := &Row{
		Alloc: r.alloc.Alloc, Task: r.task, Attempt: r.alloc.attempt, Merged: r.alloc.merged, Stage: r.stage,
		State: r.state.State, Failed: r.state.Failed, ExitCode: r.state.ExitCode, Restarts: r.state.Restarts,
		Spans: make([]Span, len(r.spans)), Marks: r.marks.list(), Omitted: r.omitted + r.marks.omitted,
	}
	for i, s := range r.spans {
		row.Spans[i] = s.Span
		if s.Open {
			row.Spans[i].To = later(s.From, end)
		}
	}
	return row
}
