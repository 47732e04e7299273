package allocations

import (
	"net/http"

	"taskrun/engine/httpapi/rest"
)

// RefuseAllGC answers the order to remove all allocations that have ended.
func (h *Handler) RefuseAllGC(*rest.Request) error {
	return rest.Fail(http.StatusNotImplemented, "not supported by taskrun: of what has ended it keeps the latest allocations alone; taskrun clean removes the runs that have ended")
}

// RefuseGC answers the order to remove an allocation.
func (h *Handler) RefuseGC(r *rest.Request) error {
	if _, ok := h.run.Engine.Alloc(r.ID); !ok {
		return rest.UnknownAlloc(r.ID)
	}
	return h.RefuseAllGC(r)
}

// RefusePause answers GET and PUT /v1/client/allocation/:id/pause, which
// Nomad's community edition refuses likewise.
func (h *Handler) RefusePause(r *rest.Request) error {
	if _, ok := h.run.Engine.Alloc(r.ID); !ok {
		return rest.UnknownAlloc(r.ID)
	}
	return rest.Fail(http.StatusInternalServerError, "Enterprise only")
}
