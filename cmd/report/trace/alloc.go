package trace

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

type alloc struct {
	*event.Alloc
	state      *fold.Alloc
	number     int // it is the n-th of its name
	attempt    int
	merged     int    // number of allocations that are merged into it
	replaces   *alloc // nil: none
	after      *verdict
	began      time.Time
	ended      time.Time // zero while it runs
	rows       []*row    // in order of appearance
	byTask     map[string]*row
	tasksOfJob []string          // names, in the order of the job
	stages     map[string]Stage  // by task; empty if the job is not known
	checks     map[string]string // latest status
	marks      marks
}

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

// verdict is the moment when an allocation became healthy.
type verdict struct {
	*alloc
	at time.Time
}

func (a *alloc) add(r *row) {
	a.rows = append(a.rows, r)
	a.byTask[r.task] = r
}

// main returns the first main task of an allocation, otherwise the task that has
// run for the longest time, or nil.
func (a *alloc) main() (main *row) {
	for _, r := range a.rows {
		if r.stage == Main {
			return r
		}
		if main == nil || r.ran() > main.ran() {
			main = r
		}
	}
	return main
}

// failed returns the row at which an allocation failed, otherwise the one that
// ended last, or nil.
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

// tasks returns the names of the tasks of some stages.
func (a *alloc) tasks(stages []Stage) []string {
	return slices.DeleteFunc(slices.Clone(a.tasksOfJob), func(name string) bool { return !slices.Contains(stages, a.stages[name]) })
}

// name returns the name of a row; see Row.Name.
func name(r *row, job, index bool) string {
	text := r.task
	if index || job {
		text = cmp.Or(strings.TrimPrefix(r.alloc.Name, r.alloc.Job+"."), r.alloc.Name) + "/" + text // GROUP[INDEX]
	}
	if job {
		text = event.JobName(r.alloc.Job) + "/" + text
	}
	if n := r.alloc.number; n > 1 {
		text += " #" + strconv.Itoa(n)
	}
	return text
}

// ran returns for how long the task has run until its latest event.
func (r *row) ran() time.Duration {
	if r.started.IsZero() {
		return 0
	}
	return r.last.Sub(r.started)
}

// open returns the span that has not ended, or nil.
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

// Limits of the spans of a row: when there are twice as many as are kept, the middle is
// merged.
const (
	firstSpans = 16
	lastSpans  = 48
)

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
