package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
	"taskrun/engine/update"
)

// Update makes another version of a job, canonicalised and valid, the newest
// one: what that means is the plan. It returns at once; how it goes on the
// job's deployment tells, if it has one. The same version again changes
// nothing. The job belongs to the engine from then on.
func (e *Engine) Update(job *api.Job) (*update.Plan, error) {
	r, err := e.find(*job.ID)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	return r.update(job)
}

// update is called with the lock held.
func (r *jobRun) update(job *api.Job) (*update.Plan, error) {
	if r.ended || r.stopped || r.isEnding() {
		return nil, fmt.Errorf("cannot change job %q: it is being stopped", *job.ID)
	}
	plan, err := r.plan(job)
	if err != nil || plan.Diff.Type == "None" {
		return plan, err
	}
	var c store.Change
	r.register(job, false, &c)
	r.advance(&c)
	return plan, nil
}

// checkKind refuses what makes another kind of job of this one, in Nomad's
// words.
func (r *jobRun) checkKind(job *api.Job) error {
	before := r.newest.Load()
	switch {
	case *before.Type != *job.Type:
		return fmt.Errorf("cannot update job from type %q to %q", *before.Type, *job.Type)
	case job.IsPeriodic() && !before.IsPeriodic():
		return fmt.Errorf("cannot update non-periodic job to being periodic")
	case !job.IsPeriodic() && before.IsPeriodic():
		return fmt.Errorf("cannot update periodic job to being non-periodic")
	case job.IsParameterized() && !before.IsParameterized():
		return fmt.Errorf("cannot update non-parameterized job to being parameterized")
	case !job.IsParameterized() && before.IsParameterized():
		return fmt.Errorf("cannot update parameterized job to being non-parameterized")
	}
	return nil
}

// admit checks what must hold before a version can run, and claims the ports
// that it needs. The lock is held.
func (r *jobRun) admit(job *api.Job) error {
	if err := r.engine.checkDrivers(job); err != nil {
		return err
	}
	if job.IsPeriodic() || job.IsParameterized() || !r.reserved {
		return nil
	}
	places, _ := r.places()
	next := *job
	next.Version = new(*r.newest.Load().Version + 1)
	if d := update.Begin(&next, r.version, places, time.Now()); d != nil {
		for p := range staticPorts(job) {
			if g := d.Groups[*p.group.Name]; g != nil && g.Canaries > 0 {
				return fmt.Errorf("group %q: a canary cannot have static port %d beside the allocation that it may replace: leave out canary, or the port's number", *p.group.Name, p.Value)
			}
		}
	}
	return r.reserve(job)
}
