package engine

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// Plan tells what another version of a job, canonicalised, would mean for what
// runs: what would be done at once. A job that does not run would be placed as
// a whole. Nothing is done. A version that Update would refuse is the same
// error.
func (e *Engine) Plan(job *api.Job) (*update.Plan, error) {
	r, err := e.find(*job.ID)
	if err != nil { // it does not run
		if err := e.checkSize(job); err != nil {
			return nil, err
		}
		return update.New(nil, job, nil, nil), nil
	}
	r.lock()
	defer r.mu.Unlock()
	had := len(r.static)
	plan, err := r.plan(job)
	r.releaseStatic(had)
	return plan, err
}

// plan returns what a version means, or why it cannot be the next one. It
// claims the static ports that the version needs. The lock is held.
func (r *jobRun) plan(job *api.Job) (*update.Plan, error) {
	if err := r.checkKind(job); err != nil {
		return nil, err
	}
	if err := r.engine.checkSize(job); err != nil {
		return nil, err
	}
	places, _ := r.places()
	plan := update.New(r.newest.Load(), job, r.version, places)
	if plan.Diff.Type == "None" {
		return plan, nil
	}
	if err := r.admit(job); err != nil {
		return nil, err
	}
	return plan, nil
}
