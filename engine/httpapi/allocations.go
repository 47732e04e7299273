package httpapi

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// listAllocations answers GET /v1/allocations, by ID when a prefix is given
// and by age otherwise.
func (s *Server) listAllocations(_ http.ResponseWriter, r *request) (any, error) {
	prefix := plainID(r.query.Get("prefix"))
	var found []engine.Alloc
	for _, a := range s.engine.Allocs() {
		if strings.HasPrefix(plainID(a.ID), prefix) {
			found = append(found, a)
		}
	}
	stubs, err := s.allocStubs(r, found)
	if err != nil {
		return nil, err
	}
	return page(r, stubs, func(a *api.AllocationListStub) string {
		if prefix != "" {
			return a.ID
		}
		return byAge(a.CreateIndex, a.ID)
	})
}

// plainID is an ID, or the beginning of one, as its digits alone.
func plainID(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
