package engine

import (
	"time"

	"taskrun/engine/health"
	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/jobspec/taskenv"
)

// What is stored of a run, besides its allocations:
//
//	run                              runRecord
//	order                            how it is to end: orderStop or orderKill
//	stopped     <job ID>             whether that job alone is to end
//	move        <job ID> <group> <i> moveRecord, of the present allocation
//	job         <job ID>             each job of the run, an api.Job
//	slot        <job ID> <group> <i> slotRecord
//	deployment  <job ID>             deploymentRecord
//	periodic    <job ID>             the time up to which launches were made
const (
	runKey        = "run"
	orderKey      = "order"
	stoppedKey    = "stopped"
	moveKey       = "move"
	jobKey        = "job"
	slotKey       = "slot"
	deploymentKey = "deployment"
	periodicKey   = "periodic"
)

// The orders.
const (
	orderStop = "stop"
	orderKill = "kill"
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
}

// moveRecord is the order to stop an allocation.
type moveRecord struct {
	Alloc string `json:"alloc"` // ID
	Again bool   `json:"again"` // another one is to run in its place
}

// placement is an allocation as it is put in its slot.
type placement struct {
	ID       string         `json:"id"`
	Replaces string         `json:"replaces,omitempty"`
	Ports    []taskenv.Port `json:"ports,omitempty"`
	// TaskPorts are those of the tasks' own networks, by task.
	TaskPorts map[string][]taskenv.Port `json:"task_ports,omitempty"`
}

// deploymentRecord is what is stored of a job's deployment.
type deploymentRecord struct {
	ID string `json:"id"`
	*health.Deployment
}
