package fold

import (
	"slices"

	"taskrun/engine/leaf/event"
)

// Forget drops the objects that an event says are forgotten. Apply does not:
// views and records of a run keep everything, but an engine must not grow.
func (r *Run) Forget(e event.Event) {
	gone, ok := e.Body.(event.Forgotten)
	if !ok {
		return
	}
	if e.Alloc != nil {
		r.forgetAlloc(e.Alloc.ID)
	}
	if len(gone.Evaluations) > 0 {
		ids := map[string]bool{}
		for _, id := range gone.Evaluations {
			ids[id] = true
		}
		r.Evaluations = slices.DeleteFunc(r.Evaluations, func(e *Evaluation) bool { return ids[e.ID] })
	}
	for _, n := range gone.Versions {
		delete(r.versions, versionKey{gone.Job, n})
	}
	r.forgetDeployments(gone)
}

// forgetDeployments drops the deployments of forgotten versions.
func (r *Run) forgetDeployments(gone event.Forgotten) {
	of := func(d *Deployment) bool { return d.Job == gone.Job && slices.Contains(gone.Versions, d.Version) }
	if !slices.ContainsFunc(r.deployments[gone.Job], of) {
		return
	}
	r.Deployments = slices.DeleteFunc(r.Deployments, of)
	if left := slices.DeleteFunc(r.deployments[gone.Job], of); len(left) > 0 {
		r.deployments[gone.Job] = left
	} else {
		delete(r.deployments, gone.Job)
	}
}

func (r *Run) forgetAlloc(id string) {
	a := r.byID[id]
	if a == nil {
		return
	}
	delete(r.byID, id)
	r.Allocs = slices.DeleteFunc(r.Allocs, func(b *Alloc) bool { return b == a })
	if a.Replacement != nil {
		a.Replacement.Replaces = nil
	}
	if a.Replaces != nil {
		a.Replaces.Replacement = nil
	}
}
