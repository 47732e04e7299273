package jobs

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// OfPool answers GET /v1/node/pool/:name/jobs.
func (h *Handler) OfPool(r *rest.Request) (any, error) {
	if r.Query.Get("prefix") != "" {
		return nil, rest.Fail(http.StatusBadRequest, "prefix argument not allowed")
	}
	return h.list(r, func(j *api.Job) bool { return j.NodePool != nil && *j.NodePool == r.ID })
}
