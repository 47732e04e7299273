package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
	"taskrun/engine/update"
)

// act carries out what has changed, and stores that together with c. A dead job
// lives again if it takes that. The caller must hold the lock.
func (r *jobRun) act(c *store.Change) {
	r.advance(c)
	r.revive()
}

// update makes job the newest version. The caller must hold the lock.
func (r *jobRun) update(job *api.Job, how registration) (*update.Plan, error) {
	if r.isOver() || r.isEnding() {
		return nil, fmt.Errorf("cannot change job %q: %s", *job.ID, whyOver(r))
	}
	if r.ended { // it may live again
		if err := r.recorder.Wake(); err != nil {
			return nil, fmt.Errorf("cannot change job %q: %w", *job.ID, err)
		}
		defer r.recorder.Rest()
		r.ports.Reserved = !launches(job)
	}
	had := r.ports.Static()
	plan, err := r.plan(job)
	if err != nil || plan.Diff.Type == "None" {
		return plan, err
	}
	var c store.Change
	if r.host.cfg.Resident {
		if err := r.announce(job, how.submission, &c); err != nil {
			r.ports.ReleaseStatic(had)
			return nil, err
		}
	}
	if r.ended && launches(job) && !isStopped(job) {
		r.children.launched(time.Now(), &c)
	}
	r.register(job, how, &c)
	r.act(&c)
	return plan, nil
}

// reschedule replaces the failed allocations now. The caller must hold the
// lock.
func (r *jobRun) reschedule() error {
	defer r.revive()
	for s := range r.slots.lasting() {
		if !r.host.allocs.hasFailed(s.last().ID) {
			continue
		}
		if r.isOver() || r.isEnding() {
			return fmt.Errorf("cannot reschedule job %q: %s", *r.job.ID, whyOver(r))
		}
		s.rescheduleFailed(time.Now())
	}
	return nil
}
