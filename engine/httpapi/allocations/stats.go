package allocations

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Stats answers GET /v1/client/allocation/:id/stats: what the running
// tasks use, or one of them, and what they use together.
func (h *Handler) Stats(r *rest.Request) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	task := r.Query.Get("task")
	if _, ok := a.Tasks[task]; task != "" && !ok {
		return nil, rest.Fail(http.StatusNotFound, "unknown task name %q", task)
	}
	used, err := h.run.Engine.Stats(r.Context(), r.ID, task)
	if err != nil {
		return nil, err
	}
	if used.ResourceUsage.DeviceStats == nil {
		used.ResourceUsage.DeviceStats = []*api.DeviceGroupStats{} // a list, as clients of Nomad know it
	}
	return used, nil
}
