package engine

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// Plan tells what another version of a job, canonicalised, would mean for what
// runs: what would be done at once. A job that does not run would be placed as
// a whole. Nothing is done. A version that Update would refuse is the same
// error.
func (e *Engine) Plan(job *api.Job) (*update.Plan, error) {
	r, err := e.runs.find(*job.ID)
	if err != nil { // it does not run
		if err := e.cfg.checkSize(job); err != nil {
			return nil, err
		}
		return update.New(nil, job, nil, nil), nil
	}
	r.lock()
	defer r.mu.Unlock()
	had := len(r.ports.static)
	plan, err := r.plan(job)
	r.ports.releaseStatic(had)
	return plan, err
}

// Update makes another version of a job, canonicalised and valid, the newest
// one: what that means is the plan. It returns at once; how it goes on the
// job's deployment tells, if it has one. The same version again changes
// nothing. The job belongs to the engine from then on.
func (e *Engine) Update(job *api.Job) (*update.Plan, error) {
	r, err := e.runs.find(*job.ID)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	return r.update(job)
}

// Versions returns the versions of a job that are kept, the newest first. They
// are read only.
func (e *Engine) Versions(id string) ([]*api.Job, error) {
	r, err := e.runs.find(id)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	kept := r.versions.kept()
	slices.Reverse(kept)
	return kept, nil
}

// Revert makes an earlier version of a job the newest one again. With prior the
// present one must be of that number. The errors are Nomad's.
func (e *Engine) Revert(id string, to uint64, prior *uint64) (*update.Plan, error) {
	r, err := e.runs.find(id)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	now := *r.newest.Load().Version
	kept := r.versions.kept()
	i := kept.index(to)
	switch {
	case prior != nil && *prior != now:
		return nil, fmt.Errorf("Current job has version %d; enforcing version %d", now, *prior) //nolint:staticcheck // Nomad's words
	case to == now:
		return nil, fmt.Errorf("can't revert to current version")
	case i < 0:
		return nil, fmt.Errorf("job %q in namespace %q at version %d not found", id, *r.job.Namespace, to)
	}
	job := *kept[i]
	return r.update(&job)
}
