package allocations

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// allocStopped is the response in its wire format, whose metadata differs from
// the client's type.
type allocStopped struct {
	EvalID string
	Index  uint64
}

// Stop answers PUT /v1/allocation/:id/stop.
func (h *Handler) Stop(r *rest.Request) (any, error) {
	reschedule, err := r.Flag("reschedule")
	if err != nil {
		return nil, err
	}
	noDelay, err := r.Flag("no_shutdown_delay")
	if err != nil {
		return nil, err
	}
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.Fail(http.StatusNotFound, "allocation not found")
	}
	if err := h.run.Engine.StopAlloc(r.ID, engine.AllocStop{Reschedule: reschedule, NoShutdownDelay: noDelay}); err != nil {
		return nil, err
	}
	answer := &allocStopped{}
	answer.EvalID, answer.Index = h.run.Tracker.Evaluated(a.Alloc.Job, a.ID, event.AllocStop)
	r.SetIndex(answer.Index)
	return answer, nil
}

// Signal answers PUT /v1/client/allocation/:id/signal for one task, or all. A
// task that is not running is an error, but the others are still signaled.
func (h *Handler) Signal(r *rest.Request, order *api.AllocSignalRequest) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	if err := engine.CheckSignal(order.Signal); err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "%v", err) // Nomad would send SIGINT
	}
	if order.Task != "" {
		return done{}, a.Signal(r.Context(), order.Task, order.Signal)
	}
	var failures []string
	for _, t := range a.Job.LookupTaskGroup(a.Group).Tasks {
		if err := a.Signal(r.Context(), t.Name, order.Signal); err != nil {
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

// RefuseAllGC refuses to remove all allocations that have ended.
func (h *Handler) RefuseAllGC(*rest.Request) error {
	return rest.Fail(http.StatusNotImplemented, "not supported by taskrun: it only keeps the latest ended allocations; taskrun clean removes ended runs")
}

// RefuseGC refuses to remove an allocation.
func (h *Handler) RefuseGC(r *rest.Request) error {
	if _, ok := h.run.Engine.Alloc(r.ID); !ok {
		return rest.UnknownAlloc(r.ID)
	}
	return h.RefuseAllGC(r)
}

// SetPause answers PUT /v1/client/allocation/:id/pause, which stops or starts one
// task. Nomad has that in its Enterprise edition only.
func (h *Handler) SetPause(r *rest.Request, order *api.AllocPauseRequest) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	var err error
	switch order.ScheduleState {
	case "pause":
		err = a.StopTask(r.Context(), order.Task)
	case "run", "scheduled": // no task has a schedule
		err = a.StartTask(order.Task)
	default:
		err = rest.Fail(http.StatusBadRequest, "unknown schedule state %q: pause, run or scheduled", order.ScheduleState)
	}
	return done{}, err
}

// Pause answers GET /v1/client/allocation/:id/pause.
func (h *Handler) Pause(r *rest.Request) (any, error) {
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.UnknownAlloc(r.ID)
	}
	halted, err := a.Halted(r.Query.Get("task"))
	if err != nil || !halted {
		return api.AllocGetPauseResponse{}, err
	}
	return api.AllocGetPauseResponse{ScheduleState: "force_pause"}, nil
}
