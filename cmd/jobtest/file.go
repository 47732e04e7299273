// Package jobtest reads job tests: *.nomadtest.hcl files, which say how the tasks
// of a job behave, what is ordered when, and what must be true of the run in the
// end. It reads and checks them; play carries them out.
package jobtest

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// File is a test file.
type File struct {
	Path      string
	Job       string               // path of the job file
	Stubs     string               // path of the stubs file; empty: none
	Variables map[string]cty.Value // of the job, for every run
	Runs      []*Run               // as they stand in the file; their names differ
}

// Mode is where a run takes place.
type Mode string

// The modes.
const (
	Virtual Mode = "virtual" // mock tasks, virtual time
	Real    Mode = "real"    // real drivers, real time
)

// Run is one run of the job, and what is asserted about it.
type Run struct {
	Name      string
	Mode      Mode
	Until     Until
	Timeout   time.Duration        // of a real run in real time, of a virtual one in virtual time; 0: the default
	Variables map[string]cty.Value // besides the file's
	Tasks     []*Task
	Checks    []*Check
	Orders    []*Order // by time
	Execs     []*Exec
	Asserts   []*Assert
	Snapshot  string // name of the stored sequence of events; empty: none
	Range     hcl.Range
}

// Until is what ends a run that does not end by itself.
type Until struct {
	Event string        // "ended", "running" or "healthy"; empty: After counts
	After time.Duration // since the beginning
}

// Task is how a mock plays a task.
type Task struct {
	Target   string            // [GROUP[INDEX]/]TASK
	Script   cty.Value         // an object of mock_driver's options; those that are missing are not set
	Attempts map[int]cty.Value // instead, from the second start (2) on; each holds until the next one
	Range    hcl.Range
}

// Check is what a mocked check says from some time on.
type Check struct {
	Name   string        // of a service or of a check
	Status string        // success or failure; critical and failing mean failure, passing success
	Output string        // what it answers
	After  time.Duration // since its allocation began
	Range  hcl.Range
}

// Verb is what is ordered.
type Verb string

// The verbs.
const (
	Stop     Verb = "stop"
	Restart  Verb = "restart"
	Signal   Verb = "signal"
	Dispatch Verb = "dispatch"
	Update   Verb = "update"
	Scale    Verb = "scale"
	Promote  Verb = "promote"
)

// Order is an order to a run at some time since its beginning.
type Order struct {
	At      time.Duration
	Verb    Verb
	Target  string // of stop, restart, signal and scale; empty: the whole job
	Signal  string
	File    string // of update: path of the job file
	Count   int    // of scale
	Meta    map[string]string
	Payload []byte // of dispatch
	Range   hcl.Range
}

// Exec is a command in a task of a real run, once the run has reached what it
// waits for.
type Exec struct {
	Target  string
	Command []hcl.Expression // words; evaluated when the task runs, with its environment
	Timeout time.Duration
	Range   hcl.Range
}

// Assert is a condition that must hold in the end.
type Assert struct {
	Condition hcl.Expression
	Message   hcl.Expression // nil for none
	Range     hcl.Range
}
