package runner

import (
	"time"

	"taskrun/engine/restart"
)

// step is how far a task has come on its way from one start to the next.
type step string

const (
	stepNew     step = ""        // it is to be started
	stepDelay   step = "delay"   // likewise, but not before progress.Until
	stepIntent  step = "intent"  // its driver is starting it
	stepStarted step = "started" // it runs
	stepEnded   step = "ended"   // it has ended as progress.End says, which was not dealt with yet
	stepDone    step = "done"    // it is not started again, unless the allocation is
)

// progress is where a task is in its run, with all that it needs to go on from
// there.
type progress struct {
	Step    step            `json:"step,omitempty"`
	Tracker restart.Tracker `json:"tracker"`
	// Until is the end of the delay that is under way: before the next start
	// or, while the task runs, before it is stopped.
	Until time.Time `json:"until,omitzero"`
	// Stopping is when the driver was told first to stop the task.
	Stopping time.Time `json:"stopping,omitzero"`
	// Restarting: the task is stopped by an order to start it again, and not
	// for good. Failure: which counts like a failure.
	Restarting bool        `json:"restarting,omitempty"`
	Failure    bool        `json:"failure,omitempty"`
	End        restart.End `json:"end,omitzero"`
	KillError  string      `json:"kill_error,omitempty"`
}

// next is the progress with which a step begins.
func (p progress) next(s step) progress { return progress{Step: s, Tracker: p.Tracker} }
