package engine

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// Plan tells what another version of a job, canonicalised, would mean for what
// runs: what would be done at once. A job that does not run would be placed as
// a whole. Nothing is done.
func (e *Engine) Plan(job *api.Job) *update.Plan {
	r, err := e.find(*job.ID)
	if err != nil {
		return update.New(nil, job, nil, nil)
	}
	r.lock()
	defer r.mu.Unlock()
	return r.plan(job)
}

// plan is called with the lock held.
func (r *jobRun) plan(job *api.Job) *update.Plan {
	places, _ := r.places()
	return update.New(r.newest.Load(), job, r.version, places)
}
