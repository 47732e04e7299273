package jobs

import (
	"net/http"
	"strconv"

	"taskrun/engine/httpapi/rest"
)

// Submission answers GET /v1/job/:id/submission.
func (h *Handler) Submission(r *rest.Request) (any, error) {
	version, err := strconv.ParseUint(r.Query.Get("version"), 10, 64)
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "Unable to parse job submission version parameter: %v", err)
	}
	if _, _, err := h.run.FindJob(r); err == nil {
		if source := h.submissions.of(h.run.Key(r), version); source != nil {
			return source, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "job source not found")
}
