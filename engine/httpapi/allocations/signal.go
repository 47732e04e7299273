package allocations

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
)

// Signal answers PUT /v1/client/allocation/:id/signal: one task, or
// all of them. That one does not run is an error, and the others are signaled
// all the same.
func (h *Handler) Signal(r *rest.Request) (any, error) {
	var order api.AllocSignalRequest
	if err := r.Decode(&order); err != nil {
		return nil, err
	}
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	if err := engine.CheckSignal(order.Signal); err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "%v", err) // Nomad would send SIGINT
	}
	if order.Task != "" {
		return done{}, h.run.Engine.Signal(r.ID, order.Task, order.Signal)
	}
	var failures []string
	for _, t := range a.Job.LookupTaskGroup(a.Group).Tasks {
		if err := h.run.Engine.Signal(r.ID, t.Name, order.Signal); err != nil {
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
