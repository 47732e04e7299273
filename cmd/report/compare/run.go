// Package compare finds the differences between two runs. It ignores what differs
// in any two runs, such as IDs, ports, directories and times. It is pure.
package compare

import (
	"fmt"
	"time"
)

// Run is the comparable part of a run.
type Run struct {
	Values      map[Key]string // of the run as a whole
	Deployments []Deployment   // in the order of their starts
	Allocs      []*Alloc       // in the order of their starts
	Took        time.Duration  // Unknown or negative if its end says nothing
	// Lacks are the kinds of differences about which nothing is known of this run.
	Lacks []Kind
	// Ring is how many of the latest events of each task are known; 0: all.
	Ring int
}

// Deployment is the final state of a deployment.
type Deployment struct {
	Job, Status string
}

// Alloc is the comparable part of an allocation.
type Alloc struct {
	Job    string // ID of the job or, if another job launched it, of that one
	Group  string // with the child job's part of its name
	Index  int
	Values map[Key]string
	Tasks  map[string]*Task
}

// Task is the comparable part of a task.
type Task struct {
	Values map[Key]string
	Events []Event
	// Lifecycle is the task's hook, followed by " sidecar" for a sidecar; empty for a
	// main task, nil if it is not known.
	Lifecycle *string
	// Received, Started and Ended are when the task was received, when it first
	// started and when it died, since the start of the run, or Unknown.
	Received, Started, Ended time.Duration
	Stopped                  bool // it was told to end, so it could have run longer
}

// Unknown is a time that is not known, or has not come.
const Unknown time.Duration = -1

// Event is an event of a task.
type Event struct {
	At      time.Duration // since the start of the run, or Unknown
	Type    string
	Message string            // without what differs from run to run
	Details map[string]string // likewise; nil: not known
	Delay   time.Duration     // before the restart that the event announces; it may be longer by 25 %
}

// Key identifies a value of a run, an allocation or a task.
type Key struct {
	Kind Kind
	Name string // such as that of a variable; may be empty
}

// Kind is a kind of difference.
type Kind string

// The kinds.
const (
	Outcome     Kind = "outcome"     // how the run ended: status and exit_code
	Deployments Kind = "deployment"  // by number
	Command     Kind = "command"     // the answer of a request or command, by number and line
	Existence   Kind = "existence"   // of an allocation or a task
	Status      Kind = "status"      // of an allocation
	Health      Kind = "health"      // of an allocation
	Replacement Kind = "replacement" // whether an allocation replaces another one, and how many there are
	Service     Kind = "service"     // by name
	Check       Kind = "check"       // by service and name
	File        Kind = "file"        // by path in the allocation directory
	State       Kind = "state"       // of a task
	Failed      Kind = "failed"      // whether a task failed
	ExitCode    Kind = "exit_code"   // of the task's last end
	Restarts    Kind = "restarts"    // of a task
	TaskEvent   Kind = "event"
	Order       Kind = "order" // in which two tasks started and ended
	Duration    Kind = "duration"
	Variable    Kind = "variable" // in the environment of a task, by name
	Template    Kind = "template" // by destination
	Output      Kind = "output"   // stdout or stderr
	Server      Kind = "server"   // known to a server only, such as a desired status
)

// Where is a run as a whole, an allocation of it, or a task of that.
type Where struct {
	Job        string // empty if both runs have one job
	Group      string // empty: the run as a whole
	Index      int
	Generation int    // counts allocations of the same name; replacements are later ones
	Task       string // empty: the allocation
}

// Target names the allocation or task as commands do; it is empty for a run.
func (w Where) Target() string {
	if w.Group == "" {
		return w.Job
	}
	target := fmt.Sprintf("%s[%d]", w.Group, w.Index)
	if w.Job != "" {
		target = w.Job + "/" + target
	}
	if w.Task != "" {
		target += "/" + w.Task
	}
	return target
}

// Difference is a value that differs.
type Difference struct {
	Where
	Key
	A, B *string // nil: it has none
	// AtA and AtB are when it happened, since the start of the run, or Unknown.
	AtA, AtB time.Duration
	Why      string // the documented reason for it; may be empty
}

// Path identifies what differs, such as "allocs/app[0]#0/tasks/server/exit_code".
func (d Difference) Path() string {
	path := ""
	if d.Group != "" {
		alloc := d.Where
		alloc.Task = ""
		path = fmt.Sprintf("allocs/%s#%d/", alloc.Target(), d.Generation)
	} else if d.Job != "" {
		path = "jobs/" + d.Job + "/"
	}
	if d.Task != "" {
		path += "tasks/" + d.Task + "/"
	}
	path += string(d.Kind)
	if d.Name != "" {
		path += "/" + d.Name
	}
	return path
}
