package engine

import (
	"time"

	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/jobspec/taskenv"
)

// runRecord is what a run is made of.
type runRecord struct {
	Job     string       `json:"job"` // the ID of the one that was submitted
	Began   time.Time    `json:"began"`
	HostEnv []store.Text `json:"host_env"`
}

// slotRecord is what is stored of a slot.
type slotRecord struct {
	Placed  []placement           `json:"placed"` // those that have ended and are kept, then the present one
	Earlier []restart.Replacement `json:"earlier,omitempty"`
	Want    uint64                `json:"want,omitempty"`   // version that the present one is to be of
	Canary  bool                  `json:"canary,omitempty"` // it stands beside another one of its index
	Gone    bool                  `json:"gone,omitempty"`   // nothing is to run in it any more
}

// placement is an allocation as it is put in its slot.
type placement struct {
	ID       string `json:"id"`
	Replaces string `json:"replaces,omitempty"`
	// Evaluation is the ID of the one because of which it is placed, Stopped of
	// that with which somebody has stopped it.
	Evaluation string `json:"evaluation,omitempty"`
	Stopped    string `json:"stopped,omitempty"`
	Version    uint64 `json:"version,omitempty"` // of the job
	Canary     bool   `json:"canary,omitempty"`  // and not promoted
	// WasCanary: it was placed as one.
	WasCanary bool   `json:"was_canary,omitempty"`
	Unwanted  string `json:"unwanted,omitempty"` // why it is to end
	Again     bool   `json:"again,omitempty"`    // and another one is to run in its place then
	// ReplaceAt is when another one is to run, which is not linked to it.
	ReplaceAt time.Time `json:"replace_at,omitzero"`
	// Undeployed: the deployment of its version was over when it was placed.
	Undeployed bool           `json:"undeployed,omitempty"`
	Ports      []taskenv.Port `json:"ports,omitempty"`
	// TaskPorts are those of the tasks' own networks, by task.
	TaskPorts map[string][]taskenv.Port `json:"task_ports,omitempty"`
	Cores     map[string]taskenv.Cores  `json:"cores,omitempty"` // by task
}
