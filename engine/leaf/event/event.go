// Package event holds what happens in a run, and the bus that carries it.
//
// Every event has a sequence number. A subscriber sees the events in that
// order, each once; it may lose pieces of output when it is too slow, and then
// learns of it by a Gap, but never a task event or a change of state.
package event

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Alloc names an allocation.
type Alloc struct {
	Job   string // job ID
	Group string
	Name  string // <job>.<group>[<index>]
	ID    string
	// Parent is the ID of the periodic or parameterized job in whose name the
	// job runs; empty for any other.
	Parent string
}

// Of reports whether the allocation belongs to a job, or to one that runs in
// its name.
func (a *Alloc) Of(job string) bool { return a.Job == job || a.Parent == job && job != "" }

// Of reports whether the event concerns a job, or one that runs in its name.
func (e Event) Of(job string) bool {
	switch b := e.Body.(type) {
	case Deployment:
		return b.Job == job
	case Version:
		return b.Job == job || b.Parent == job && job != ""
	case Evaluation:
		return b.Job == job || b.Parent == job && job != ""
	}
	return e.Alloc != nil && e.Alloc.Of(job)
}

// Index returns the index of the allocation in its group.
func (a *Alloc) Index() int {
	index, _ := strconv.Atoi(strings.TrimSuffix(a.Name[strings.LastIndexByte(a.Name, '[')+1:], "]"))
	return index
}

// Event is one thing that happened.
type Event struct {
	Seq   uint64 // counts from 1 in each run, and never falls: the index of the change
	Time  time.Time
	Alloc *Alloc // nil when it concerns the run as a whole; shared, read only
	Task  string // empty when it concerns the allocation as a whole
	Body  Body
}

// Body is what happened: one of the types of this package.
type Body interface {
	// kind names the type, "" for one that cannot be stored.
	kind() string
}

type (
	// TaskEvent is a task event in Nomad's words. Read only.
	TaskEvent struct{ *api.TaskEvent }

	// TaskState is a task's state after a change.
	TaskState struct {
		State    string `json:"state"` // pending, running or dead
		Failed   bool   `json:"failed"`
		Restarts uint64 `json:"restarts"`
		ExitCode *int   `json:"exit_code"` // of the latest end; nil before the first
	}

	// AllocStatus is an allocation's client status after a change.
	AllocStatus struct {
		Status      string // pending, running, complete or failed
		Description string
		// Replaces is the ID of the failed allocation in whose place this one
		// runs; empty for a first one.
		Replaces string
		// Retry is how long until a failed allocation is replaced; negative
		// when it will not be.
		Retry time.Duration
		// Evaluation is the ID of the one because of which it was placed.
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
		// Canarying: it waits for canaries, or for their promotion.
		Canarying bool `json:"canarying,omitempty"`
		// API is the deployment as a server describes it, with its groups; nil
		// in a run of this process.
		API *api.Deployment `json:"-"`
	}

	// Version is a version of a job that is new, or has become stable, or has
	// another tag.
	Version struct {
		Job    string `json:"job,omitempty"`    // ID
		Parent string `json:"parent,omitempty"` // ID of the job in whose name it runs; may be empty
		Number uint64 `json:"version"`
		Stable bool   `json:"stable"`
		Tag    string `json:"tag,omitempty"`
	}

	// Evaluation is a change after which allocations were placed. There is no
	// scheduler: it is complete from the beginning.
	Evaluation struct {
		Job        string  `json:"job,omitempty"`    // ID
		Parent     string  `json:"parent,omitempty"` // ID of the job in whose name it runs; may be empty
		ID         string  `json:"id"`
		Trigger    Trigger `json:"trigger"`
		Version    uint64  `json:"version"`              // of the job
		Deployment string  `json:"deployment,omitempty"` // ID; empty for none
		Alloc      string  `json:"about,omitempty"`      // ID of the allocation that it is about; empty for the whole job
	}

	// Service is a service that was registered, or is no more.
	Service struct {
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Port       int      `json:"port,omitempty"` // 0 for none
		Tags       []string `json:"tags,omitempty"`
		Registered bool     `json:"registered"`
	}

	// Check is a check of a service that says something new.
	Check struct {
		Service string `json:"service"`
		Check   string `json:"check"`
		Status  string `json:"status"` // pending, success or failure
		Output  string `json:"output"`
		Target  string `json:"target,omitempty"` // what is probed: a URL, HOST:PORT or a command; may be empty
	}

	// Output announces a piece of a task's output. The bytes may be read
	// until the subscriber asks for its next event.
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

	// Notice is a word of taskrun's own to the user.
	Notice struct{ Text string }

	// Variable is a variable that was set or deleted. It is not kept, as the
	// variables are not.
	Variable struct {
		*api.VariableMetadata
		Deleted bool
	}

	// Scaled is an order to scale a group of a job that was noted, whether it has
	// changed the job or not. It is not kept, as the orders are kept with the job.
	Scaled struct{ Job string } // ID

	// Forgotten reports that the engine no longer knows the allocation that the
	// event concerns, evaluations by their IDs, or versions of a job with their
	// deployments. It is not kept: what happened has happened.
	Forgotten struct {
		Evaluations []string
		Job         string // ID
		Versions    []uint64
	}
)

// Trigger is why there is an evaluation, in Nomad's words.
type Trigger string

// The triggers.
const (
	JobRegister       Trigger = "job-register"
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
func (Scaled) kind() string      { return "" }
func (Forgotten) kind() string   { return "" }

// Stream is one of a task's two outputs.
type Stream uint8

// The two streams.
const (
	Stdout Stream = iota
	Stderr
)

// Streams are both.
var Streams = []Stream{Stdout, Stderr}

// String returns "stdout" or "stderr".
func (s Stream) String() string {
	if s == Stderr {
		return "stderr"
	}
	return "stdout"
}

// ErrOverwritten reports that output that was kept in memory only had to make
// room for newer.
var ErrOverwritten = errors.New("output was overwritten")

// Source is a piece of captured output that stays readable, even when its file
// was rotated away, as long as it is retained.
type Source interface {
	io.ReaderAt
	Retain()
	Release()
}

// Kind names the type of a body, "" for one that cannot be stored.
func Kind(b Body) string { return b.kind() }
