package allocations

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
)

// List answers GET /v1/allocations, by ID when a prefix is given
// and by age otherwise.
func (h *Handler) List(r *rest.Request) (any, error) {
	prefix := rest.PlainID(r.Query.Get("prefix"))
	stubs, err := h.stubs(r, h.those(func(a engine.Alloc) bool { return strings.HasPrefix(rest.PlainID(a.ID), prefix) }))
	if err != nil {
		return nil, err
	}
	return rest.Page(r, stubs, func(a *api.AllocationListStub) string {
		if prefix != "" {
			return a.ID
		}
		return rest.ByAge(a.CreateIndex, a.ID)
	})
}
