package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// Alloc is a snapshot of an allocation.
type Alloc struct {
	event.Alloc
	runner.State
	Job      *api.Job // read only
	Dir      string   // its directory
	Replaces string   // ID of the allocation in whose place this one runs
	// Unwanted says why the allocation is not to run on, in Nomad's words;
	// empty as long as nobody wants it to end.
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
}

// Allocs returns the allocations of this run, living and ended ones, by name
// and then by age.
func (e *Engine) Allocs() []Alloc {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Alloc, 0, len(e.allocs))
	for _, a := range e.allocs {
		list = append(list, e.snapshot(a))
	}
	slices.SortFunc(list, func(a, b Alloc) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created))
	})
	return list
}

// Alloc returns one of the allocations of this run.
func (e *Engine) Alloc(id string) (Alloc, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, ok := e.allocs[id]
	if !ok {
		return Alloc{}, false
	}
	return e.snapshot(a), true
}

// snapshot is called with the lock held.
func (e *Engine) snapshot(a *runner.Alloc) Alloc {
	cfg := a.Config()
	granted := map[string]drivers.Resources{}
	for _, t := range cfg.Group.Tasks {
		granted[t.Name] = cfg.Granted(t)
	}
	return Alloc{
		Unwanted: e.unwanted[a], Deployment: cfg.Deployment, Canary: cfg.Canary,
		Alloc: *cfg.Alloc, State: a.State(), Job: cfg.Job, Dir: cfg.Dir, Replaces: cfg.Replaces,
		Ports: cfg.Ports, TaskPorts: cfg.TaskPorts, Granted: granted,
	}
}

// Jobs returns the jobs that were submitted, in their newest versions. They are read only.
func (e *Engine) Jobs() []*api.Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := make([]*api.Job, 0, len(e.runs))
	for _, r := range e.runs {
		if !e.purged[*r.job.ID] {
			jobs = append(jobs, r.newest.Load())
		}
	}
	return jobs
}

func (e *Engine) alloc(id string) (*runner.Alloc, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, ok := e.allocs[id]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("Unknown allocation %q", id) //nolint:staticcheck // Nomad's words
}

// track makes an allocation known.
func (e *Engine) track(a *runner.Alloc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.allocs[a.Config().Alloc.ID] = a
}

// forget takes an allocation out of what is known.
func (e *Engine) forget(a *runner.Alloc) {
	known := a.Config().Alloc
	e.mu.Lock()
	delete(e.allocs, known.ID)
	delete(e.unwanted, a)
	e.mu.Unlock()
	e.bus.Publish(known, "", event.Forgotten{})
}

// The intended states of allocations that are not to run on, in Nomad's words.
const (
	notNeeded = "alloc not needed due to job update"
	migrated  = "alloc is being migrated"
	updated   = "alloc is being updated due to job update"
)

// desire says why an allocation is not to run on.
func (e *Engine) desire(a *runner.Alloc, unwanted string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unwanted[a] == "" {
		e.unwanted[a] = unwanted
	}
}

// forgetJob forgets a job that has ended, and its allocations.
func (e *Engine) forgetJob(id string) {
	e.mu.Lock()
	var gone []*runner.Alloc
	for _, a := range e.allocs {
		if *a.Config().Job.ID == id {
			gone = append(gone, a)
		}
	}
	e.purged[id] = true
	e.mu.Unlock()
	for _, a := range gone {
		e.forget(a)
	}
}

// find returns a job of this engine, which may run in the name of another.
func (e *Engine) find(id string) (*jobRun, error) {
	e.mu.Lock()
	runs := e.runs
	e.mu.Unlock()
	for _, r := range runs {
		if *r.job.ID == id {
			return r, nil
		}
		if child := r.child(id); child != nil {
			return child, nil
		}
	}
	return nil, fmt.Errorf("job not found: %q", id)
}

func (r *jobRun) child(id string) *jobRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

func (e *Engine) job(id string) (*jobRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		if *r.job.ID == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("job not found: %q", id)
}
