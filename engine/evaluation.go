package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// introduce publishes the version with which the job begins, and the evaluation
// that places it, unless an earlier engine has. The caller
// must hold the lock.
func (h *history) introduce() {
	if h.purged.Load() {
		return
	}
	job, known := h.newest.Load(), false
	h.host.state.Look(func(run *fold.Run) { known = run.Version(h.key, *job.Version) != nil })
	if known {
		return
	}
	var c store.Change
	h.tellVersion(job, &c)
	trigger := event.JobRegister
	if h.parent != "" && !job.Dispatched {
		trigger = event.PeriodicJob
	}
	h.evaluateWith(event.Evaluation{Trigger: trigger, Priority: h.priority}, &c)
	h.recorder.Commit(c)
	h.told(&h.introduced)
}

// tellVersion adds to a change that a version is there, or is another one. The
// lock is held.
func (h *history) tellVersion(job *api.Job, c *store.Change) {
	if h.purged.Load() {
		return // another job may have its key
	}
	v := event.Version{Job: h.key, Parent: h.parent, Number: *job.Version, Stable: job.Stable != nil && *job.Stable}
	if job.VersionTag != nil {
		v.Tag = job.VersionTag.Name
	}
	c.Add(event.Event{Time: time.Now(), Body: v})
}

// evaluate adds an evaluation to a change and returns its ID. It is about an
// allocation, by its ID, or about the whole job. The lock is held.
func (h *history) evaluate(why event.Trigger, alloc string, c *store.Change) string {
	return h.evaluateWith(event.Evaluation{Trigger: why, Alloc: alloc}, c)
}

// evaluateWith is evaluate for an evaluation whose trigger, allocation and
// priority are given. A job that only launches others has none, because nothing of
// it is placed, but for its stop, of which the evaluation tells. The lock is held.
func (h *history) evaluateWith(v event.Evaluation, c *store.Change) string {
	job := h.newest.Load()
	if launches(job) && v.Trigger != event.JobDeregister {
		return ""
	}
	v.ID = h.host.cfg.Chance.ID("evaluation", h.key, v.Trigger, v.Alloc)
	v.Job, v.Parent, v.Version, v.Type, v.Priority = h.key, h.parent, *job.Version, *job.Type, cmp.Or(v.Priority, *job.Priority)
	if d := h.deployment(); d != nil {
		switch v.Trigger {
		case event.JobRegister, event.JobScaling, event.PeriodicJob, event.DeploymentWatcher:
			v.Deployment = d.ID
		case event.JobDeregister, event.AllocFailure, event.AllocStop:
		}
	}
	var surplus []*fold.Evaluation
	h.host.state.Look(func(run *fold.Run) {
		surplus = run.Surplus(h.owns)
	})
	h.forgetEvaluations(surplus, c)
	c.Add(event.Event{Time: time.Now(), Body: v})
	return v.ID
}

// evaluateStop returns the ID of the evaluation with which an allocation is
// stopped. The lock is held.
func (h *history) evaluateStop(a *event.Alloc, c *store.Change) (id string) {
	h.host.state.Look(func(run *fold.Run) {
		if known := run.Evaluated(a.Job, a.ID, event.AllocStop); known != nil {
			id = known.ID
		}
	})
	if id == "" {
		id = h.evaluate(event.AllocStop, a.ID, c)
	}
	return id
}

// owns reports whether an evaluation is of the job or of one of its children.
func (h *history) owns(v *fold.Evaluation) bool { return v.Job == h.key || v.Parent == h.key }

// forgetEvaluations adds to a change that evaluations of the job are forgotten.
func (h *history) forgetEvaluations(gone []*fold.Evaluation, c *store.Change) {
	for _, v := range gone {
		c.ForgetEvaluation(v.Evaluation)
	}
	publishForgotten(&h.host.bus, gone)
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

// told completes an answer. The caller must hold the lock.
func (h *history) told(answer *Registered) {
	answer.Version = *h.newest.Load().Version
	h.host.state.Look(func(run *fold.Run) {
		if v := run.Version(h.key, answer.Version); v != nil {
			answer.Modified = v.Created
			if answer.Evaluation == "" {
				answer.Index, answer.Evaluation = v.Created, v.Evaluation
				return
			}
		}
		if v := run.Evaluation(answer.Evaluation); v != nil {
			answer.Index = v.Index
		}
	})
}

// evaluation returns the ID of the evaluation that came with the newest version.
// The caller must hold the lock.
func (h *history) evaluation() (id string) {
	h.host.state.Look(func(run *fold.Run) {
		if v := run.Version(h.key, *h.newest.Load().Version); v != nil {
			id = v.Evaluation
		}
	})
	return id
}
