package engine

import (
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// Alloc is a snapshot of an allocation. Its methods concern the allocation as
// it is when they are called.
type Alloc struct {
	event.Alloc
	runner.State
	Job      *api.Job // read only
	Dir      string   // its directory
	Replaces string   // ID of the allocation in whose place this one runs
	// Unwanted says why the allocation is not to run on, in Nomad's words;
	// empty as long as it is to run.
	Unwanted string
	// Deployment is the ID of the deployment that it is part of; empty for
	// none.
	Deployment string
	Canary     bool // it was placed as one, and is not promoted
	// Ports are those of the group, TaskPorts those of tasks by the deprecated
	// network blocks of their resources.
	Ports     []taskenv.Port
	TaskPorts map[string][]taskenv.Port
	Granted   map[string]drivers.Resources // by task

	now *runner.Alloc
}

// allocs are the living and the ended allocations of an engine.
type allocs struct {
	bus *event.Bus

	mu    sync.Mutex
	known map[string]*knownAlloc // by ID
}

// knownAlloc is an allocation, and why it is not to run on; guarded by the
// mutex of allocs.
type knownAlloc struct {
	*runner.Alloc
	unwanted string
}

func (a *knownAlloc) snapshot() Alloc {
	cfg := a.Config()
	granted := map[string]drivers.Resources{}
	for _, t := range cfg.Group.Tasks {
		granted[t.Name] = cfg.Granted(t)
	}
	return Alloc{
		Unwanted: a.unwanted, Deployment: cfg.Deployment, Canary: cfg.Canary,
		Alloc: *cfg.Alloc, State: a.State(), Job: cfg.Job, Dir: cfg.Dir, Replaces: cfg.Replaces,
		Ports: cfg.Ports, TaskPorts: cfg.TaskPorts, Granted: granted, now: a.Alloc,
	}
}

// find returns an allocation by its ID; nil if it is not known.
func (l *allocs) find(id string) *runner.Alloc {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.known[id]; ok {
		return a.Alloc
	}
	return nil
}

// track makes an allocation known.
func (l *allocs) track(a *runner.Alloc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[a.Config().Alloc.ID] = &knownAlloc{Alloc: a}
}

// forget makes an allocation unknown.
func (l *allocs) forget(a *event.Alloc) {
	l.mu.Lock()
	delete(l.known, a.ID)
	l.mu.Unlock()
	l.bus.Publish(a, "", event.Forgotten{})
}

// forgetJob forgets the allocations of a job.
func (l *allocs) forgetJob(id string) {
	l.mu.Lock()
	var gone []*event.Alloc
	for _, a := range l.known {
		if cfg := a.Config(); *cfg.Job.ID == id {
			gone = append(gone, cfg.Alloc)
		}
	}
	l.mu.Unlock()
	for _, a := range gone {
		l.forget(a)
	}
}

// The intended states of allocations that are not to run on, in Nomad's words.
const (
	notNeeded = "alloc not needed due to job update"
	migrated  = "alloc is being migrated"
	updated   = "alloc is being updated due to job update"
)

// unwant stops an allocation that is known, and keeps the first reason.
func (l *allocs) unwant(a *runner.Alloc, why string) {
	l.mark(a, why)
	a.Stop()
}

// mark keeps the first reason why an allocation is not to run on.
func (l *allocs) mark(a *runner.Alloc, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.known[a.Config().Alloc.ID]; known != nil && known.unwanted == "" {
		known.unwanted = why
	}
}
