package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// signalAllocation answers PUT /v1/client/allocation/:id/signal: one task, or
// all of them. That one does not run is an error, and the others are signaled
// all the same.
func (s *Server) signalAllocation(w http.ResponseWriter, r *request) (any, error) {
	var order api.AllocSignalRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	a, ok := s.engine.Alloc(r.id)
	if !ok {
		return nil, unknownAlloc(r.id)
	}
	if err := engine.CheckSignal(order.Signal); err != nil {
		return nil, fail(http.StatusBadRequest, "%v", err) // Nomad would send SIGINT
	}
	if order.Task != "" {
		return done{}, s.engine.Signal(r.id, order.Task, order.Signal)
	}
	var failures []string
	for _, t := range a.Job.LookupTaskGroup(a.Group).Tasks {
		if err := s.engine.Signal(r.id, t.Name, order.Signal); err != nil {
			failures = append(failures, fmt.Sprintf("\t* Failed to signal task: %s, err: %v\n", t.Name, err))
		}
	}
	switch len(failures) {
	case 0:
		return done{}, nil
	case 1:
		return nil, fmt.Errorf("1 error occurred:\n%s", failures[0])
	default:
		return nil, fmt.Errorf("%d errors occurred:\n%s", len(failures), strings.Join(failures, ""))
	}
}
