package httpapi

import (
	"net/http"

	"github.com/hashicorp/nomad/api"
)

// revertJob answers PUT /v1/job/:id/revert: an earlier version becomes the
// newest one.
func (s *Server) revertJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobRevertRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if order.JobID != "" && order.JobID != r.id {
		return nil, fail(http.StatusBadRequest, "Job ID does not match")
	}
	if _, _, err := s.findJob(r); err != nil {
		return nil, fail(http.StatusNotFound, "job %q not found", r.id)
	}
	plan, err := s.engine.Revert(r.id, order.JobVersion, order.EnforcePriorVersion)
	if err != nil {
		return nil, err
	}
	return s.registered(w, r.id, plan.Version), nil
}
