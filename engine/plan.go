package engine

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// Plan tells what another version of a job, canonicalised, would mean for what
// runs: what would be done at once. A job that does not run would be placed as
// a whole. Nothing is done. A job with too many allocations is an error.
func (e *Engine) Plan(job *api.Job) (*update.Plan, error) {
	if err := e.checkSize(job); err != nil {
		return nil, err
	}
	r, err := e.find(*job.ID)
	if err != nil {
		return update.New(nil, job, nil, nil), nil
	}
	r.lock()
	defer r.mu.Unlock()
	return r.plan(job), nil
}

// plan is called with the lock held.
func (r *jobRun) plan(job *api.Job) *update.Plan {
	places, _ := r.places()
	return update.New(r.newest.Load(), job, r.version, places)
}
