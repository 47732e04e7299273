package tracker

import (
	"slices"
	"time"

	"taskrun/engine/httpapi/topic"
	"taskrun/engine/leaf/event"
)

func (t *Tracker) observeAlloc(ev event.Event) {
	status, isStatus := ev.Body.(event.AllocStatus)
	r := t.allocs[ev.Alloc.ID]
	if r == nil {
		t.prune()
		r = &Alloc{Created: t.now, Evaluation: t.placed(ev.Alloc, status.Replaces)}
		t.allocs[ev.Alloc.ID] = r
		t.change(topic.JobDeployments(ev.Alloc.Job), topic.Deployments(""))
	}
	r.Modified = t.now
	if !isStatus {
		return
	}
	r.ended = Terminal(status.Status)
	r.Awaited = r.ended && status.Retry >= 0
	if old := t.allocs[status.Replaces]; old != nil && old.Next == "" {
		old.Next, old.Awaited, old.Modified = ev.Alloc.ID, false, t.now
		t.change(topic.Alloc(status.Replaces))
	}
}

// placed makes the evaluation because of which an allocation was placed, and
// tells of the version of its job if that is new.
func (t *Tracker) placed(a *event.Alloc, replaces string) (evaluation string) {
	number := uint64(0)
	if known, ok := t.engine.Alloc(a.ID); ok {
		number = *known.Job.Version
	}
	job := Version(a.Job, number)
	if !t.versions[job] {
		t.versions[job] = true
		return t.evaluateLocked(TriggerRegister, a.Job, job)
	}
	if stopped := t.evaluationID(TriggerStop, replaces); slices.ContainsFunc(t.evaluations, func(e Evaluation) bool { return e.ID == stopped }) {
		return stopped
	}
	if replaces != "" {
		return t.evaluateLocked(t.whyReplaced(replaces, number), a.Job, replaces)
	}
	return t.evaluationID(TriggerRegister, job)
}

// whyReplaced says why an allocation, whose job is of some version, runs in the
// place of another one.
func (t *Tracker) whyReplaced(other string, number uint64) (trigger string) {
	if old, ok := t.engine.Alloc(other); ok && *old.Job.Version != number {
		return TriggerDeployment
	}
	return TriggerFailure
}

// prune drops what is known of allocations that the engine has forgotten. What
// that costs is shared by as many new ones as were left.
func (t *Tracker) prune() {
	if len(t.allocs) < t.pruneAt {
		return
	}
	known := map[string]bool{}
	for _, a := range t.engine.Allocs() {
		known[a.ID] = true
	}
	for id, r := range t.allocs {
		if r.ended && !known[id] {
			delete(t.allocs, id)
			t.forget(topic.Alloc(id))
		}
	}
	t.pruneAt = max(64, 2*len(t.allocs))
}

// Alloc returns what is known of an allocation.
func (t *Tracker) Alloc(id string) Alloc {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.allocs[id]; r != nil {
		return *r
	}
	return Alloc{Created: topic.First, Modified: topic.First}
}

// observeDeployment takes in a change of a deployment, and the version of its
// job if that is new. The lock is held.
func (t *Tracker) observeDeployment(body event.Deployment, at time.Time) {
	d := t.deployments[body.ID]
	if d == nil {
		d = &Deployment{Created: t.now}
		t.deployments[body.ID] = d
		if name := Version(body.Job, body.Version); !t.versions[name] {
			t.versions[name] = true
			t.evaluateLocked(TriggerRegister, body.Job, name)
		}
	}
	d.Changed, d.Modified = at, t.now
	t.deployed[body.Job] = body.ID
	t.change(topic.Job(body.Job), topic.Jobs(""))
}

// Deployment returns what is known of a deployment.
func (t *Tracker) Deployment(id string) Deployment {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.deployments[id]; d != nil {
		return *d
	}
	return Deployment{Created: topic.First, Modified: topic.First}
}
