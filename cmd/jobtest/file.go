package jobtest

import (
	"path/filepath"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
	"taskrun/jobspec/decode"
)

// File is a test file. After errors only Path and Text are of use.
type File struct {
	Path      string
	Text      []byte                           // for reports of diagnostics
	Job       string                           // path of the job file
	Stubs     string                           // path of the stubs file; empty: none
	Variables map[string]jobspec.VariableValue // of the job, for every run
	Runs      []*Run                           // as they stand in the file; their names differ

	jobAt jobspec.Range // where the job file is named
}

// dir is the directory to which paths in the file are relative.
func (f *File) dir() string { return filepath.Dir(f.Path) }

// Mode is where a run takes place.
type Mode string

// The modes.
const (
	Virtual Mode = "virtual" // mock tasks, virtual time
	Real    Mode = "real"    // real drivers, real time
)

// Run is one run of the job, with its assertions.
type Run struct {
	Name      string
	Mode      Mode
	Until     Until
	Timeout   time.Duration                    // of a real run in real time, of a virtual one in virtual time; 0: the default
	Variables map[string]jobspec.VariableValue // the file's, and those of the run, which win
	Tasks     []*Task
	Checks    []*Check
	Orders    []*Order // by time
	Execs     []*Exec
	Asserts   []*Assert
	Snapshot  string // name of the stored sequence of events; empty: none
	// ExpectFailures are the tasks, allocations and checks that must fail.
	ExpectFailures []Reference
	Range          hcl.Range

	file *File
}

// Until is the condition that ends a run that does not end by itself. A run never
// ends that way before its last order was carried out.
type Until struct {
	// Event is "ended", "running" or "healthy"; empty: After counts. By default
	// it is "ended".
	Event string
	After time.Duration // since the beginning
}

// The events that end a run.
const (
	Ended   = "ended"
	Running = "running"
	Healthy = "healthy"
)

// Reference is the name of something in the job, and where it stands.
type Reference struct {
	Name  string
	Range hcl.Range
}

// Task is how a mock plays a task.
type Task struct {
	Target string // [GROUP[INDEX]/]TASK
	// Script is an object of those options of mock_driver that are written. A
	// main task of a service without run_for that is not told how to end runs
	// until it is stopped.
	Script cty.Value
	// Attempts are used instead of Script at single starts, which count from 1, also
	// across the allocations of one place. They inherit nothing from Script.
	Attempts map[int]cty.Value

	label hcl.Range
}

// Check is the result of a mocked check from some time on. A name may have several.
type Check struct {
	Name   string        `hcl:",label"`          // of a service or of a check
	Status string        `hcl:"status"`          // success or failure
	Output string        `hcl:"output,optional"` // its output
	After  time.Duration `hcl:"after,optional"`  // since its allocation began
	decode.Placed
}

// Verb is the kind of an order.
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
	At   time.Duration
	Verb Verb
	// Target is stopped, restarted or sent a signal. If it is empty or the ID of the
	// job, it means the whole job. For scale it is the group.
	Target  string
	Signal  string
	File    string // of update: path of the job file
	Count   int    // of scale
	Meta    map[string]string
	Payload []byte // of dispatch
	Range   hcl.Range

	target hcl.Range
}

// Exec is a command in a task of a real run, once the run has reached what it
// waits for.
type Exec struct {
	Target string `hcl:",label"`
	// Command may hold references such as ${NOMAD_ADDR_http}, which are replaced
	// as those in the config of the task are.
	Command []string      `hcl:"command"`
	Timeout time.Duration `hcl:"timeout,optional"` // 0: the default
	decode.Placed
}

// Assert is a condition that must hold in the end.
type Assert struct {
	Condition hclsyntax.Expression
	Text      string         // of the condition
	Message   hcl.Expression // nil for none
	Parts     []Part         // of the condition that have a value of their own, as they stand there
	Range     hcl.Range      // of the condition
	calls     []call         // of functions, in the condition and the message
}

// Part is a call or a reference in a condition.
type Part struct {
	Expression hclsyntax.Expression
	Text       string
}

// call is the call of a function in a condition or a message, or a reference to
// something by name, as in exec["app/server"] and var.name.
type call struct {
	name string
	args []argument
}

type argument struct {
	text    string
	literal bool
	at      hcl.Range
}
