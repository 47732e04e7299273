package httpapi

import (
	"net/http"

	"github.com/hashicorp/nomad/api"
)

// allocationStats answers GET /v1/client/allocation/:id/stats: what the running
// tasks use, or one of them, and what they use together.
func (s *Server) allocationStats(_ http.ResponseWriter, r *request) (any, error) {
	a, ok := s.engine.Alloc(r.id)
	if !ok {
		return nil, unknownAlloc(r.id)
	}
	task := r.query.Get("task")
	if _, ok := a.Tasks[task]; task != "" && !ok {
		return nil, fail(http.StatusNotFound, "unknown task name %q", task)
	}
	used, err := s.engine.Stats(r.Context(), r.id, task)
	if err != nil {
		return nil, err
	}
	if used.ResourceUsage.DeviceStats == nil {
		used.ResourceUsage.DeviceStats = []*api.DeviceGroupStats{} // a list, as clients of Nomad know it
	}
	return used, nil
}
