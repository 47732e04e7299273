package runner

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
)

// keptEvents is how many events a task's state keeps, as in Nomad. The bus
// carries all of them.
const keptEvents = 10

// Nomad's names of the task states.
const (
	pending = "pending"
	running = "running"
	dead    = "dead"
)

// advance returns the task state after an event (or nil) and a change of state
// (or ""). Unlike in Nomad, a dead task that starts again has no finish time.
func advance(s api.TaskState, state string, e *api.TaskEvent, now time.Time) api.TaskState {
	if e != nil {
		s.Failed = s.Failed || event.Fails(e)
		if e.Type == api.TaskRestarting {
			s.Restarts++
			s.LastRestart = time.Unix(0, e.Time)
		}
		first := max(0, len(s.Events)+1-keptEvents)
		s.Events = append(s.Events[first:len(s.Events):len(s.Events)], e) // a copy: others may be reading the old ones
	}
	if state == "" || state == s.State {
		return s
	}
	switch state {
	case running:
		s.StartedAt = now.UTC()
	case dead:
		s.FinishedAt = now.UTC()
	case pending:
		s.FinishedAt = time.Time{}
	}
	s.State = state
	return s
}

// phase converts a task state for package lifecycle.
func phase(s api.TaskState) lifecycle.Phase {
	switch s.State {
	case running:
		return lifecycle.Running
	case dead:
		return lifecycle.Dead
	default:
		return lifecycle.Pending
	}
}

// State is a snapshot of an allocation.
type State struct {
	Status      string // pending, running, complete or failed
	Description string
	Tasks       map[string]*api.TaskState
	// Healthy is the verdict of the allocation's deployment, or nil.
	Healthy *bool
	// Created is when the allocation was created, Modified when it last
	// changed.
	Created, Modified time.Time
}

// LastEvent returns when the last task ended or, if none has, when the
// allocation last changed. Nomad counts the delay of a reschedule from it.
func (s State) LastEvent() (last time.Time) {
	for _, t := range s.Tasks {
		if t.FinishedAt.After(last) {
			last = t.FinishedAt
		}
	}
	if last.IsZero() {
		return s.Modified
	}
	return last
}

// Result is how an allocation ended.
type Result struct {
	Status string    // complete or failed
	Failed time.Time // end of its last task
}

// step is how far a task has come between two starts.
type step string

const (
	stepNew     step = ""        // to be started
	stepDelay   step = "delay"   // to be started after progress.Until
	stepIntent  step = "intent"  // the driver is starting it
	stepStarted step = "started" // it runs
	stepEnded   step = "ended"   // ended as in progress.End, which is not handled yet
	stepDone    step = "done"    // not started again, unless the allocation is
)

// progress is where a task is in its run, with everything needed to continue
// from there.
type progress struct {
	Step    step            `json:"step,omitempty"`
	Tracker restart.Tracker `json:"tracker"`
	// Until is the end of the current delay: before the next start or, while
	// the task is running, before it is stopped.
	Until time.Time `json:"until,omitzero"`
	// Stopping is when the driver was first told to stop the task.
	Stopping time.Time `json:"stopping,omitzero"`
	// Restarting is true while the task is stopped in order to start again.
	// Failure is true if that restart counts as a failure.
	Restarting bool `json:"restarting,omitempty"`
	Failure    bool `json:"failure,omitempty"`
	// Halt is true if it will start only when it is ordered to.
	Halt      bool        `json:"halt,omitempty"`
	End       restart.End `json:"end,omitzero"`
	KillError string      `json:"kill_error,omitempty"`
}

// next returns the progress at the start of a step.
func (p progress) next(s step) progress { return progress{Step: s, Tracker: p.Tracker} }
