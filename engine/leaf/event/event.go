// Package event defines the events of a run, and the bus that carries them.
//
// Every event has a sequence number. A subscriber receives the events in that
// order, each one once. If it is too slow it may lose pieces of output, which a
// Gap reports, but never a task event or a change of state.
package event

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Alloc identifies an allocation.
type Alloc struct {
	Job   string // job ID
	Group string
	Name  string // <job>.<group>[<index>]
	ID    string
	// Parent is the ID of the periodic or parameterized job on whose behalf the
	// job runs, or empty.
	Parent string
}

// Of reports whether the allocation belongs to a job or one of its children.
func (a *Alloc) Of(job string) bool { return a.Job == job || a.Parent == job && job != "" }

// Of reports whether the event concerns a job or one of its children.
func (e Event) Of(job string) bool {
	switch b := e.Body.(type) {
	case Deployment:
		return b.Job == job
	case Version:
		return b.Job == job || b.Parent == job && job != ""
	case Evaluation:
		return b.Job == job || b.Parent == job && job != ""
	case Notice:
		if b.Job != "" {
			return b.Job == job
		}
	}
	return e.Alloc != nil && e.Alloc.Of(job)
}

// Index returns the index of the allocation in its group.
func (a *Alloc) Index() int {
	index, _ := strconv.Atoi(strings.TrimSuffix(a.Name[strings.LastIndexByte(a.Name, '[')+1:], "]"))
	return index
}

// Event is something that happened in a run.
type Event struct {
	Seq   uint64 // counts from 1 in each run, and never decreases: the index of the change
	Time  time.Time
	Alloc *Alloc // nil if it concerns the whole run; shared, read only
	Task  string // empty if it concerns the whole allocation
	Body  Body
}

// Body is the content of an event: one of the types of this package.
type Body interface {
	// kind returns the name of the type, or "" if it cannot be stored.
	kind() string
}

type (
	// TaskEvent is a task event in Nomad's words. It is read only.
	TaskEvent struct{ *api.TaskEvent }

	// TaskState is a task's state after a change.
	TaskState struct {
		State    string `json:"state"` // pending, running or dead
		Failed   bool   `json:"failed"`
		Restarts uint64 `json:"restarts"`
		ExitCode *int   `json:"exit_code"` // of the latest end; nil before that
		// Halted is true for a pending task that a user has stopped. It stays so
		// until a user starts it.
		Halted bool `json:"stopped,omitempty"`
	}

	// AllocStatus is an allocation's client status after a change.
	AllocStatus struct {
		Status      string // pending, running, complete or failed
		Description string
		// Replaces is the ID of the failed allocation that this one replaces,
		// or empty.
		Replaces string
		// Retry is the delay before a failed allocation is replaced. It is
		// negative if it is not replaced.
		Retry time.Duration
		// Evaluation is the ID of the evaluation that placed it.
		Evaluation string
	}

	// AllocHealth is the verdict on an allocation of a service.
	AllocHealth struct {
		Healthy bool `json:"healthy"`
	}

	// Deployment is the state of a job's deployment after a change. It
	// concerns no single allocation.
	Deployment struct {
		Job         string `json:"job,omitempty"` // ID
		ID          string `json:"id,omitempty"`
		Version     uint64 `json:"version,omitempty"` // of the job
		Status      string `json:"status"`            // running, paused, successful, failed or cancelled
		Description string `json:"description"`       // in Nomad's words, for people
		// Canarying is true while it waits for canaries or their promotion.
		Canarying bool `json:"canarying,omitempty"`
		// API is the deployment as a server describes it, with its groups; nil
		// for a run of this process.
		API *api.Deployment `json:"-"`
	}

	// Version is a new version of a job, or one that has become stable or has
	// another tag.
	Version struct {
		Job    string `json:"job,omitempty"`    // ID
		Parent string `json:"parent,omitempty"` // ID of the parent job; may be empty
		Number uint64 `json:"version"`
		Stable bool   `json:"stable"`
		Tag    string `json:"tag,omitempty"`
	}

	// Evaluation is a change that led to the placement of allocations. There is
	// no scheduler, so it is complete from the start.
	Evaluation struct {
		Job        string  `json:"job,omitempty"`    // ID
		Parent     string  `json:"parent,omitempty"` // ID of the parent job; may be empty
		ID         string  `json:"id"`
		Trigger    Trigger `json:"trigger"`
		Version    uint64  `json:"version"`              // of the job
		Deployment string  `json:"deployment,omitempty"` // ID; empty for none
		Alloc      string  `json:"about,omitempty"`      // ID of the allocation that it concerns; empty for the whole job
		Type       string  `json:"job_type,omitempty"`   // of the job, as it was then
		Priority   int     `json:"priority,omitempty"`   // its own or, unless one was given, that of the job
	}

	// Service is a service that was registered or deregistered.
	Service struct {
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Port       int      `json:"port,omitempty"` // 0 for none
		Tags       []string `json:"tags,omitempty"`
		Registered bool     `json:"registered"`
	}

	// Check is a new result of a service's check.
	Check struct {
		Service string `json:"service"`
		Check   string `json:"check"`
		Status  string `json:"status"` // pending, success or failure
		Output  string `json:"output"`
		Target  string `json:"target,omitempty"` // a URL, HOST:PORT or a command; may be empty
	}

	// Output announces a piece of a task's output. The bytes are valid until
	// the subscriber asks for its next event.
	Output struct {
		Stream Stream
		Source Source
		Offset int64
		Length int64
	}

	// Gap reports that output of a task was dropped for this subscriber.
	Gap struct {
		Stream Stream
		Bytes  int64
	}

	// Notice is a message of taskrun itself to the user. Without an allocation, it may
	// concern a job.
	Notice struct {
		Job  string `json:",omitempty"` // ID
		Text string
		// Unfixed sums up the errors in the files of a run, which the text describes.
		// They last until a notice says that they are Fixed.
		Unfixed string `json:",omitempty"`
		Fixed   bool   `json:",omitempty"`
	}

	// Variable is a variable that was set or deleted. It is not stored, like
	// the variables.
	Variable struct {
		*api.VariableMetadata
		Deleted bool
	}

	// Object is an object of the registry that was written or deleted. It is
	// not stored: the registry stores the object.
	Object struct {
		Table   Table
		Key     string
		Value   any // what it is now, or was before it was deleted; read only
		Deleted bool
	}

	// Scaled is a recorded order to scale a group of a job, whether it changed
	// the job or not. It is not stored, because the orders are stored with the
	// job.
	Scaled struct{ Job string } // ID

	// Moved reports that the allocation of the event goes on with another version of
	// its job. It is not stored, because the versions of allocations are.
	Moved struct{}

	// Forgotten reports that the engine no longer knows the allocation of the
	// event, or evaluations by ID or versions with their deployments of a job. It
	// is not stored, because the past does not change.
	Forgotten struct {
		Evaluations []string
		Job         string // key
		Versions    []uint64
		Gone        bool // the job itself is forgotten
	}
)

// Table is a kind of objects of the registry.
type Table string

// The tables.
const (
	Namespaces  Table = "namespace"   // by name
	NodePools   Table = "node pool"   // by name
	Scheduler   Table = "scheduler"   // its configuration is the only object
	Nodes       Table = "node"        // by ID
	HostVolumes Table = "host volume" // by ID
)

// Trigger is the reason for an evaluation, in Nomad's words.
type Trigger string

// The triggers.
const (
	JobRegister       Trigger = "job-register"
	JobScaling        Trigger = "job-scaling"
	PeriodicJob       Trigger = "periodic-job"
	JobDeregister     Trigger = "job-deregister"
	AllocFailure      Trigger = "alloc-failure"
	AllocStop         Trigger = "alloc-stop"
	DeploymentWatcher Trigger = "deployment-watcher"
)

func (TaskEvent) kind() string   { return "task_event" }
func (TaskState) kind() string   { return "task_state" }
func (AllocStatus) kind() string { return "alloc_status" }
func (AllocHealth) kind() string { return "alloc_health" }
func (Deployment) kind() string  { return "deployment" }
func (Version) kind() string     { return "version" }
func (Evaluation) kind() string  { return "evaluation" }
func (Service) kind() string     { return "service" }
func (Check) kind() string       { return "check" }
func (Notice) kind() string      { return "notice" }
func (Output) kind() string      { return "" }
func (Gap) kind() string         { return "" }
func (Variable) kind() string    { return "" }
func (Object) kind() string      { return "" }
func (Scaled) kind() string      { return "" }
func (Moved) kind() string       { return "" }
func (Forgotten) kind() string   { return "" }

// Stream is one of a task's two output streams.
type Stream uint8

// The two streams.
const (
	Stdout Stream = iota
	Stderr
)

// Streams are both streams.
var Streams = []Stream{Stdout, Stderr}

// String returns "stdout" or "stderr".
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// ErrOverwritten reports that output kept only in memory was overwritten by
// newer output.
var ErrOverwritten = errors.New("output was overwritten")

// Source is a piece of captured output that stays readable while it is
// retained, even if its file was rotated away.
type Source interface {
	io.ReaderAt
	Retain()
	Release()
}

// Kind returns the name of a body's type, or "" if it cannot be stored.
func Kind(b Body) string { return b.kind() }
