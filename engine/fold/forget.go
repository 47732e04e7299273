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
	r.Evaluations = slices.DeleteFunc(r.Evaluations, func(e *Evaluation) bool { return slices.Contains(gone.Evaluations, e.ID) })
	for _, n := range gone.Versions {
		delete(r.versions, versionKey{gone.Job, n})
		r.Deployments = slices.DeleteFunc(r.Deployments, func(d *Deployment) bool { return d.Job == gone.Job && d.Version == n })
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
