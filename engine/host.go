package engine

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/registry"
	"taskrun/jobspec/validate"
)

// host is what the jobs of an engine share: what they get of the machine, and where
// they tell what happens.
type host struct {
	cfg    Config
	bus    event.Bus
	notice func(format string, args ...any) // publishes a notice
	state  *State
	allocs *allocs
	watch  *driverWatch
	ports  *port.Claims
	cores  *coreClaims
	files  openFiles

	registry *registry.Registry

	stopping context.Context // done: every job stops
	hard     context.Context // done: every job is killed
	leaving  context.Context // done: every task is left running
	settled  context.Context // done: nothing new starts, for any of these reasons
}

// keyOf returns the key of a job. Only a resident engine obeys namespaces.
func (h *host) keyOf(job *api.Job) string { return h.keyIn(job, *job.ID) }

// keyIn returns the key of the job with an ID in the namespace of another one.
func (h *host) keyIn(job *api.Job, id string) string {
	if !h.cfg.Resident {
		return id
	}
	return event.JobKey(*job.Namespace, id)
}

// checkSize refuses a job with more allocations than a job may have, or with more
// than this process can run besides the others. It comes before anything that is
// done for each allocation of a job. now is the version that the job replaces, or
// nil.
func (h *host) checkSize(job, now *api.Job) error {
	if found := validate.Allocations(job, h.cfg.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return h.files.check(job, now)
}

// mayPlace reports whether the node is eligible for new allocations.
func (h *host) mayPlace() bool { return h.cfg.Node == nil || h.registry.Eligible(h.cfg.Node.ID) }
