package httpapi

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// signalAllocation answers PUT /v1/client/allocation/:id/signal: one task, or
// all that run.
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
	var failures []error
	for _, task := range slices.Sorted(maps.Keys(a.Tasks)) {
		if a.Tasks[task].State != "running" {
			continue
		}
		if err := s.engine.Signal(r.id, task, order.Signal); err != nil {
			failures = append(failures, fmt.Errorf("Failed to signal task: %s, err: %w", task, err)) //nolint:staticcheck // Nomad's words
		}
	}
	return done{}, errors.Join(failures...)
}
