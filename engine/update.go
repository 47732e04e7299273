package engine

import (
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// ErrMoves says that another version of a job would take more than a change in
// place.
var ErrMoves = errors.New("allocations would be created or destroyed, which taskrun cannot do to a job that runs: stop it, and start it again")

// Update makes another version of a job, canonicalised and valid, the one that
// runs, if that leaves every allocation where it is; else the error is
// ErrMoves. It returns at once: a task takes in some settings only when it is
// started again. The job belongs to the engine from then on.
func (e *Engine) Update(job *api.Job) (*update.Plan, error) {
	r, err := e.find(*job.ID)
	if err != nil {
		return nil, err
	}
	e.updating.Lock()
	defer e.updating.Unlock()
	before := r.newest.Load()
	switch {
	case before.IsPeriodic() || before.IsParameterized() || job.IsPeriodic() || job.IsParameterized():
		return nil, fmt.Errorf("a job that launches others cannot be changed while it runs: stop job %q, and start it again", *job.ID)
	case *before.Type != *job.Type:
		return nil, fmt.Errorf("cannot change the type of job %q from %s to %s", *job.ID, *before.Type, *job.Type)
	}
	plan := update.New(before, job, e.present(*job.ID))
	for _, g := range plan.Groups {
		if len(g.Place)+len(g.Replace)+len(g.Stop) > 0 || g.Kind == update.Destructive {
			return plan, fmt.Errorf("group %q: %w", g.Name, ErrMoves)
		}
	}
	if plan.Diff.Type == "None" {
		return plan, nil
	}
	job.Version = new(*before.Version + 1)
	job.ParentID, job.Payload, job.Dispatched = before.ParentID, before.Payload, before.Dispatched
	return plan, r.update(job)
}

// update makes a version the newest. A slot that places an allocation
// meanwhile gives it the version when it holds it.
func (r *jobRun) update(job *api.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.stopped || r.settled.Err() != nil {
		return fmt.Errorf("cannot change job %q: it is being stopped", *job.ID)
	}
	if r.recorder.Durable() {
		var c store.Change
		c.Put(store.KeyOf(jobKey, *job.ID), job)
		r.recorder.Commit(c)
	}
	r.newest.Store(job)
	for _, s := range r.slots {
		if s.present != nil {
			s.present.Update(runner.Update{Job: job, Group: job.LookupTaskGroup(*s.group.Name)})
		}
	}
	r.notice("job %q is changed in place: version %d", *job.ID, *job.Version)
	return nil
}
