package jobs

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Revert answers PUT /v1/job/:id/revert: an earlier version becomes the
// newest one.
func (h *Handler) Revert(r *rest.Request) (any, error) {
	var order api.JobRevertRequest
	if err := r.Decode(&order); err != nil {
		return nil, err
	}
	if order.JobID != "" && order.JobID != r.ID {
		return nil, rest.Fail(http.StatusBadRequest, "Job ID does not match")
	}
	if _, _, err := h.run.FindJob(r); err != nil {
		return nil, rest.Fail(http.StatusNotFound, "job %q not found", r.ID)
	}
	plan, err := h.run.Engine.Revert(r.ID, order.JobVersion, order.EnforcePriorVersion)
	if err != nil {
		return nil, err
	}
	return h.registered(r, r.ID, plan.Version), nil
}
