package httpapi

import (
	"net/http"
)

// getNode answers GET /v1/node/:id.
func (s *Server) getNode(_ http.ResponseWriter, r *request) (any, error) {
	if r.id != s.cfg.Node.ID {
		return nil, fail(http.StatusNotFound, "node not found")
	}
	return s.node(r.Context()), nil
}

// nodeAllocations answers GET /v1/node/:id/allocations.
func (s *Server) nodeAllocations(_ http.ResponseWriter, r *request) (any, error) {
	list := []*allocation{}
	if r.id != s.cfg.Node.ID {
		return list, nil
	}
	run := s.look()
	for _, j := range run.jobs {
		for _, a := range run.allocs[*j.ID] {
			alloc := s.allocation(a)
			alloc.Job = j
			list = append(list, alloc)
		}
	}
	return list, nil
}
