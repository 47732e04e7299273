package allocations

import (
	"net/http"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/httpapi/tracker"
)

// allocStopped is an answer as it is on the wire, which differs from the
// client's type in what surrounds it.
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
	if err := r.NoShutdownDelay(); err != nil {
		return nil, err
	}
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return nil, rest.Fail(http.StatusNotFound, "allocation not found")
	}
	// First, so that the one that takes its place finds the evaluation.
	answer := &allocStopped{EvalID: h.run.Tracker.Evaluate(tracker.TriggerStop, a.Alloc.Job, a.ID)}
	answer.Index = h.run.Tracker.Index(topic.Evaluation(answer.EvalID))
	if err := h.run.Engine.StopAlloc(r.ID, reschedule); err != nil {
		return nil, err
	}
	r.SetIndex(answer.Index)
	return answer, nil
}
