package jobtest

import (
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Outcome is the outcome of a run, which assertions read.
type Outcome struct {
	Seed     uint64
	Began    time.Time     // when the job was submitted, on the clock of the run
	Elapsed  time.Duration // on the clock of the run
	Real     time.Duration // on the clock on the wall
	Status   string        // complete, failed or stopped; running: Until was reached
	ExitCode int           // as taskrun up would have it
	Cause    string        // why the run has ended, for people; may be empty
	// Unfinished is why the run was ended before it had ended or reached its
	// Until: a timeout or a limit. Empty: it was not.
	Unfinished string
	Events     []event.Event // without output, in canonical order
	State      *fold.Run     // after all of them
	Tasks      map[TaskKey]*TaskOutcome
	Execs      map[string]*ExecOutcome // by target, as the test file writes it
	Notices    []string                // diagnostics and warnings of the run
	Secrets    []string                // values that no message may show

	// ReadFile reads a file of an allocation by its path in the allocation
	// directory, as long as the outcome is not closed.
	ReadFile func(alloc, path string) ([]byte, error)
	// Close removes the data directory of the run.
	Close func() error
}

// TaskKey names a task of an allocation.
type TaskKey struct{ Alloc, Task string } // ID of the allocation

// TaskOutcome is the part of a task's outcome that is not in its events.
type TaskOutcome struct {
	Env            map[string]string // of the latest start
	Stdout, Stderr []byte            // of all starts; at most the last MiB of each
}

// ExecOutcome is how a command in a task ended.
type ExecOutcome struct {
	ExitCode       int
	Stdout, Stderr []byte
}
