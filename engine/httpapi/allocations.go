package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// listAllocations answers GET /v1/allocations, by ID when a prefix is given
// and by age otherwise.
func (s *Server) listAllocations(_ http.ResponseWriter, r *request) (any, error) {
	prefix := plainID(r.query.Get("prefix"))
	stubs := []*api.AllocationListStub{}
	for _, a := range s.engine.Allocs() {
		if strings.HasPrefix(plainID(a.ID), prefix) && r.inNamespace(*a.Job.Namespace) {
			stubs = append(stubs, s.allocStub(a))
		}
	}
	slices.SortFunc(stubs, func(a, b *api.AllocationListStub) int {
		if prefix != "" {
			return strings.Compare(a.ID, b.ID)
		}
		return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), strings.Compare(a.ID, b.ID))
	})
	return page(r, stubs, func(a *api.AllocationListStub) string { return a.ID })
}

// plainID is an ID, or the beginning of one, as its digits alone.
func plainID(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
