// Package trace computes the spans of time in a run: the waits, the setup and the
// attempts of each task, and the critical path, which decided how long the run
// took. It is pure: events in, a trace out.
package trace

import (
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Trace describes a run in spans of time.
type Trace struct {
	Jobs       []string  // IDs, sorted
	Begin, End time.Time // the first event; the last one or, while Live, now
	Live       bool      // the run has not ended
	// Status is running, complete, failed, stopped, or lost for a run that was killed.
	Status string
	Rows   []*Row // in reading order: job, group, index, replacements, lifecycle
	Marks  []Mark // of the whole run: deployments, evaluations, notices

	// Critical is the chain of steps, each of which the next one waited for, from
	// Begin until the run ended or, if it was stopped or is Live, became healthy. Length is
	// how long that took.
	Critical []Step
	Length   time.Duration

	// Omitted counts the marks that were dropped, and the spans that were merged, so that
	// memory is bounded.
	Omitted int
}

// stopped is the status of a run that was stopped.
const stopped = "stopped"

// Row is a task of an allocation.
type Row struct {
	Alloc *event.Alloc
	Task  string
	// Name is a short name that is unique in the trace, such as "web", "app[1]/web" or, of
	// the second allocation of a name, "web #2".
	Name string
	// Attempt counts the allocations that this one has replaced. Merged counts those
	// whose rows are merged into this one.
	Attempt, Merged int
	Stage           Stage

	State    string // pending, running or dead
	Failed   bool
	ExitCode *int // of the latest end; nil before that
	Restarts uint64

	Spans   []Span // in order of time; they do not overlap
	Marks   []Mark // in order of time
	Omitted int    // see Trace.Omitted
}

// Took returns how long the task has run, including restarts; false if it never ran.
func (r *Row) Took() (d time.Duration, ran bool) {
	for _, s := range r.Spans {
		if s.Kind == Running {
			return r.Spans[len(r.Spans)-1].To.Sub(s.From), true
		}
	}
	return 0, false
}

// Stage is the part of a task in the lifecycle of its allocation.
type Stage string

// The stages. Of a run whose job is not known all tasks are of stage Unknown.
const (
	Unknown   Stage = ""
	Prestart  Stage = "prestart"
	Sidecar   Stage = "sidecar" // starts before the main tasks, and accompanies them
	Main      Stage = "main"
	Poststart Stage = "poststart"
	Poststop  Stage = "poststop"
)

// Span is a part of the life of a task.
type Span struct {
	Kind     Kind
	From, To time.Time
	Open     bool   // it has not ended: To is the end of the trace
	For      string // the reason why the task waits; empty if unknown
	// After is the row whose start or end ended the wait, or led to the order to
	// stop, or nil.
	After *Row
	// Count is the number of attempts that are merged into the span; 1 is the usual.
	Count int
}

// Took returns the length of the span.
func (s Span) Took() time.Duration { return s.To.Sub(s.From) }

// Kind is the kind of a span.
type Kind uint8

// The kinds of spans.
const (
	Waiting    Kind = iota // for other tasks, or to replace a failed allocation
	Setup                  // until the driver has started it
	Running                // or, with a Count, all kinds in turn
	Restarting             // the delay before the next attempt
	Stopping               // from the order to stop until the end
)

// Kinds are all kinds of spans, in order.
var Kinds = []Kind{Waiting, Setup, Running, Restarting, Stopping}

var kindNames = [...]string{"waiting", "setup", "running", "restarting", "stopping"}

// String returns the name of the kind, such as "waiting".
func (k Kind) String() string { return kindNames[k] }

// MarshalText returns the name of the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Mark is something that happened at a moment.
type Mark struct {
	Time   time.Time
	Kind   MarkKind
	Title  string // short, such as "Terminated" or "check alive: failure"; may be of hostile origin
	Detail string // a message; may be empty, long, and of hostile origin
	Weight fold.Weight
	Good   bool // a check passes, or an allocation is healthy
	// Routine is true for an event in the life of every task, which its spans show
	// already.
	Routine bool
}

// MarkKind is the subject of a mark.
type MarkKind string

// The kinds of marks. The first five are of rows, the others of the run.
const (
	TaskEvent    MarkKind = "event"
	AllocStatus  MarkKind = "status" // of the allocation; of its main task
	Check        MarkKind = "check"
	Health       MarkKind = "health"
	Service      MarkKind = "service"
	Deployment   MarkKind = "deployment"
	Evaluation   MarkKind = "evaluation"
	Registration MarkKind = "registration" // of a version of a job
	Notice       MarkKind = "notice"
)

// Step is a part of the critical path. Steps follow each other without gaps.
type Step struct {
	Row      *Row // nil: no task was busy
	Kind     Kind
	From, To time.Time
	Count    int     // of attempts that are merged into the step; 1 is the usual
	Share    float64 // of the length of the path, from 0 to 1
}

// Took returns the length of the step.
func (s Step) Took() time.Duration { return s.To.Sub(s.From) }
