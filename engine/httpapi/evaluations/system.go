package evaluations

import (
	"net/http"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Collect answers PUT /v1/system/gc: evaluations of jobs that have ended
// are forgotten. Jobs and allocations stay as long as the run, of which they
// are what it has done.
func (h *Handler) Collect(r *rest.Request) error {
	now := h.run.Look()
	h.run.Tracker.ForgetEvaluations(func(e tracker.Evaluation) bool {
		j := now.Job(e.Job)
		return j == nil || *j.Status == "dead"
	})
	return r.Nothing()
}

// RefuseDeletion answers the order to delete evaluations.
func (h *Handler) RefuseDeletion(*rest.Request) error {
	return rest.Fail(http.StatusNotImplemented, "not supported by taskrun: no evaluation waits for a scheduler; those of jobs that have ended are removed by nomad system gc")
}
