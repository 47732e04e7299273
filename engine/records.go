package engine

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/jobspec/taskenv"
)

// Keys of the records that are stored of a run, besides its allocations. Jobs
// are named by their keys; see event.JobKey.
//
//	run                           runRecord
//	order                         how the run should end: orderStop or orderKill
//	stopped     <job>             whether only that job should stop
//	purged                        whether the job is forgotten once it has ended
//	job         <job>             each job of the run, an api.Job
//	version     <job> <n>         each earlier version that is kept, an api.Job
//	submission  <job> <n>         the source of a version, an api.JobSubmission
//	announced   <job>             a version, with its source, whose registration has begun
//	slot        <job> <group> <i> slotRecord; followed by a number if several have that index
//	deployment  <job> <n>         deploymentRecord of that version
//	scaling     <job>             scaling events, by group
//	periodic    <job>             the time up to which launches were made
const (
	runKey        = "run"
	orderKey      = "order"
	stoppedKey    = "stopped"
	purgedKey     = "purged"
	submissionKey = "submission"
	announcedKey  = "announced"
	jobKey        = "job"
	versionKey    = "version"
	slotKey       = "slot"
	deploymentKey = "deployment"
	scalingKey    = "scaling"
	periodicKey   = "periodic"
)

// Values of the record order.
const (
	orderStop = "stop"
	orderKill = "kill"
)

// runRecord is the stored record of a run.
type runRecord struct {
	Job     string       `json:"job"` // ID of the submitted job
	Began   time.Time    `json:"began"`
	HostEnv []store.Text `json:"host_env"`
}

// slotRecord is the stored record of a slot.
type slotRecord struct {
	Placed  []placement           `json:"placed"` // kept allocations that have ended, then the present one
	Earlier []restart.Replacement `json:"earlier,omitempty"`
	Want    uint64                `json:"want,omitempty"`   // wanted version of the present allocation
	Canary  bool                  `json:"canary,omitempty"` // a canary next to another slot of its index
	Gone    bool                  `json:"gone,omitempty"`   // nothing more runs in the slot
}

// placement is the stored record of an allocation in its slot.
type placement struct {
	ID       string `json:"id"`
	Replaces string `json:"replaces,omitempty"`
	// Replacements are those that led to the allocation, the latest one last.
	Replacements []restart.Replacement `json:"replacements,omitempty"`
	// Evaluation is the ID of the evaluation that placed the allocation,
	// Stopped that of the evaluation with which a user stopped it.
	Evaluation string `json:"evaluation,omitempty"`
	Stopped    string `json:"stopped,omitempty"`
	standing
	// Ended is its standing when it ended, if its slot has moved to another version
	// since.
	Ended *standing `json:"ended,omitempty"`
	// WasCanary is true if it was placed as a canary.
	WasCanary bool   `json:"was_canary,omitempty"`
	Unwanted  string `json:"unwanted,omitempty"` // why it should stop
	// Transition is how a user wanted it to stop.
	Transition *api.DesiredTransition `json:"transition,omitempty"`
	Again      bool                   `json:"again,omitempty"` // then place another one
	// ReplaceAt is when another allocation runs in its place. That one has no
	// Replaces.
	ReplaceAt time.Time      `json:"replace_at,omitzero"`
	Ports     []taskenv.Port `json:"ports,omitempty"`
	// TaskPorts are the ports of the tasks' own networks, by task.
	TaskPorts map[string][]taskenv.Port `json:"task_ports,omitempty"`
	Cores     map[string]taskenv.Cores  `json:"cores,omitempty"` // by task
}

// standing says which version of the job an allocation belongs to, and how.
type standing struct {
	Version uint64 `json:"version,omitempty"` // of the job
	Canary  bool   `json:"canary,omitempty"`  // and not promoted
	// Undeployed is true if the deployment of its version was over when it was
	// placed.
	Undeployed bool `json:"undeployed,omitempty"`
}

// stood returns the standing of the allocation, or the one with which it ended.
func (p *placement) stood() standing {
	if p.Ended != nil {
		return *p.Ended
	}
	return p.standing
}

// isFinal reports whether a user has stopped the allocation, and no other one takes its
// place.
func (p *placement) isFinal() bool {
	return p.Unwanted == migrated && !p.Again && p.ReplaceAt.IsZero()
}
