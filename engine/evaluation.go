package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// introduce publishes the version with which the job begins, and the evaluation
// that places it, unless an earlier engine has.
func (r *jobRun) introduce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.purged.Load() {
		return
	}
	job, known := r.newest.Load(), false
	r.host.state.Look(func(run *fold.Run) { known = run.Version(r.key, *job.Version) != nil })
	if known {
		return
	}
	var c store.Change
	r.tellVersion(job, &c)
	if !launches(job) { // nothing of these is placed
		r.evaluateWith(event.Evaluation{Trigger: event.JobRegister, Priority: r.priority}, &c)
	}
	r.recorder.Commit(c)
	r.told(&r.introduced)
}

// tellVersion adds to a change that a version is there, or is another one. The
// lock is held.
func (r *jobRun) tellVersion(job *api.Job, c *store.Change) {
	if r.purged.Load() {
		return // another job may have its key
	}
	v := event.Version{Job: r.key, Parent: r.parent(), Number: *job.Version, Stable: job.Stable != nil && *job.Stable}
	if job.VersionTag != nil {
		v.Tag = job.VersionTag.Name
	}
	c.Add(event.Event{Time: time.Now(), Body: v})
}

// evaluate adds an evaluation to a change and returns its ID. It is about an
// allocation, by its ID, or about the whole job. The lock is held.
func (r *jobRun) evaluate(why event.Trigger, alloc string, c *store.Change) string {
	return r.evaluateWith(event.Evaluation{Trigger: why, Alloc: alloc}, c)
}

// evaluateWith is evaluate for an evaluation whose trigger, allocation and
// priority are given. The lock is held.
func (r *jobRun) evaluateWith(v event.Evaluation, c *store.Change) string {
	v.ID = r.host.cfg.Chance.ID("evaluation", r.key, v.Trigger, v.Alloc)
	v.Job, v.Parent, v.Version = r.key, r.parent(), *r.newest.Load().Version
	if d := r.deployment(); d != nil {
		switch v.Trigger {
		case event.JobRegister, event.JobScaling, event.DeploymentWatcher:
			v.Deployment = d.ID
		case event.JobDeregister, event.AllocFailure, event.AllocStop:
		}
	}
	var surplus []*fold.Evaluation
	r.host.state.Look(func(run *fold.Run) {
		surplus = run.Surplus(r.owns)
	})
	r.forgetEvaluations(surplus, c)
	c.Add(event.Event{Time: time.Now(), Body: v})
	return v.ID
}

// evaluateStop returns the ID of the evaluation with which an allocation is
// stopped. The lock is held.
func (r *jobRun) evaluateStop(a *event.Alloc, c *store.Change) (id string) {
	r.host.state.Look(func(run *fold.Run) {
		if known := run.Evaluated(a.Job, a.ID, event.AllocStop); known != nil {
			id = known.ID
		}
	})
	if id == "" {
		id = r.evaluate(event.AllocStop, a.ID, c)
	}
	return id
}

// placedBy returns the ID of the evaluation because of which something is
// placed: the one with which its version came or, where it takes the place of
// another allocation, that of this. The lock is held.
func (s *slot) placedBy(p placement, c *store.Change) (id string) {
	why, last := event.AllocFailure, placement{}
	if p.Replaces != "" {
		last = *s.last()
	}
	switch {
	case last.Stopped != "":
		return last.Stopped
	case p.Replaces != "" && last.Version != p.Version:
		why = event.DeploymentWatcher
	}
	if p.Replaces == "" || why == event.DeploymentWatcher && s.deployments.of(p.Version) == nil {
		s.host.state.Look(func(run *fold.Run) {
			if v := run.Version(s.key, p.Version); v != nil {
				id = v.Evaluation
			}
		})
		return id
	}
	return s.evaluate(why, p.Replaces, c)
}

// ForgetEvaluations forgets the evaluations that choose returns.
func (e *Engine) ForgetEvaluations(choose func(*fold.Run) []*fold.Evaluation) {
	var gone []*fold.Evaluation
	e.state.Look(func(run *fold.Run) { gone = slices.Clone(choose(run)) })
	for _, r := range e.runs.all() {
		var c store.Change
		r.forgetEvaluations(slices.DeleteFunc(slices.Clone(gone), func(v *fold.Evaluation) bool { return !r.owns(v) }), &c)
		r.recorder.Commit(c)
	}
}

// owns reports whether an evaluation is of the job or of one of its children.
func (r *jobRun) owns(v *fold.Evaluation) bool { return v.Job == r.key || v.Parent == r.key }

// forgetEvaluations adds to a change that evaluations of the job are forgotten.
func (r *jobRun) forgetEvaluations(gone []*fold.Evaluation, c *store.Change) {
	for _, v := range gone {
		c.ForgetEvaluation(v.Evaluation)
	}
	publishForgotten(&r.host.bus, gone)
}

// publishForgotten reports forgotten evaluations, job by job.
func publishForgotten(bus *event.Bus, gone []*fold.Evaluation) {
	ids := map[string][]string{}
	for _, v := range gone {
		ids[v.Job] = append(ids[v.Job], v.ID)
	}
	for _, job := range slices.Sorted(maps.Keys(ids)) {
		bus.Publish(nil, "", event.Forgotten{Job: job, Evaluations: ids[job]})
	}
}
