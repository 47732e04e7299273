package runner

import (
	"time"

	"taskrun/engine/restart"
)

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
