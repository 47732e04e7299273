package jobs

import (
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/event"
)

// Get answers GET /v1/job/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	_, j, err := h.run.FindJob(r)
	return j, err
}

// Summary answers GET /v1/job/:id/summary.
func (h *Handler) Summary(r *rest.Request) (any, error) {
	now, j, err := h.run.FindJob(r)
	if err != nil {
		return nil, err
	}
	return now.Summary(j), nil
}

// jobDispatched is the response in its wire format.
type jobDispatched struct {
	DispatchedJobID                        string
	EvalID                                 string
	EvalCreateIndex, JobCreateIndex, Index uint64
}

// Dispatch answers PUT /v1/job/:id/dispatch.
func (h *Handler) Dispatch(r *rest.Request, order *api.JobDispatchRequest) (any, error) {
	if order.Priority < 0 || order.Priority > maxPriority {
		return nil, fmt.Errorf("dispatch job priority must be between [1, %d]", maxPriority)
	}
	if order.JobID != "" && order.JobID != r.ID {
		return nil, rest.Fail(http.StatusBadRequest, "Job ID does not match")
	}
	if err := h.checkDispatch(r, order.Meta); err != nil {
		return nil, err
	}
	child, again, err := h.run.Engine.Handle(h.run.Key(r)).Dispatch(engine.Dispatch{
		Payload: order.Payload, Meta: order.Meta, Prefix: order.IdPrefixTemplate, Priority: order.Priority,
		Token: r.Query.Get("idempotency_token"),
	})
	if err != nil {
		return nil, err
	}
	_, id := event.SplitJobKey(child)
	answer := &jobDispatched{DispatchedJobID: id}
	answer.JobCreateIndex, answer.EvalID = h.run.Tracker.Version(child, 0)
	answer.Index = answer.JobCreateIndex
	if again { // there is nothing new to evaluate
		answer.EvalID = ""
	} else {
		answer.EvalCreateIndex = h.run.Engine.State().Index(fold.Topic{Table: fold.Evaluations, Key: answer.EvalID})
		answer.Index = max(answer.Index, answer.EvalCreateIndex)
	}
	r.SetIndex(answer.Index)
	return answer, nil
}

// checkDispatch checks that a parameterized job can still work, for example
// with the current stubs.
func (h *Handler) checkDispatch(r *rest.Request, meta map[string]string) error {
	_, job, err := h.run.FindJob(r)
	switch {
	case err != nil:
		return errors.New("parameterized job not found") // Nomad's status
	case !job.IsParameterized():
		return nil // the engine refuses it
	}
	child := *job
	child.Meta = maps.Clone(job.Meta)
	for key, value := range meta {
		child.SetMeta(key, value)
	}
	if _, errs := h.checkJob(OrderDispatch, &child); len(errs) > 0 {
		return rest.Fail(http.StatusInternalServerError, "%s", listed("error", errs))
	}
	return nil
}

// Launch answers PUT /v1/job/:id/periodic/force.
func (h *Handler) Launch(r *rest.Request) (any, error) {
	if _, _, err := h.run.FindJob(r); err != nil {
		return nil, errors.New("job not found") // Nomad's status
	}
	child, err := h.run.Engine.Handle(h.run.Key(r)).Launch()
	if err != nil {
		return nil, err
	}
	_, evaluation := h.run.Tracker.Version(child, 0)
	index := h.run.Engine.State().Index(fold.Topic{Table: fold.Evaluations, Key: evaluation})
	r.SetIndex(index)
	return struct {
		EvalID                 string
		EvalCreateIndex, Index uint64
	}{evaluation, index, index}, nil
}

// Evaluate answers PUT /v1/job/:id/evaluate. The engine's jobs are always up to
// date, so an evaluation can only replace failed allocations sooner.
func (h *Handler) Evaluate(r *rest.Request, order *api.JobEvaluateRequest) (any, error) {
	switch {
	case order.JobID == "" && r.ContentLength != 0:
		return nil, rest.Fail(http.StatusBadRequest, "Job ID must be specified")
	case order.JobID != "" && order.JobID != r.ID:
		return nil, rest.Fail(http.StatusBadRequest, "JobID not same as job name")
	}
	_, j, err := h.run.FindJob(r)
	switch {
	case err != nil:
		return nil, errors.New("job not found") // Nomad's status
	case j.IsPeriodic():
		return nil, errors.New("can't evaluate periodic job")
	case j.IsParameterized():
		return nil, errors.New("can't evaluate parameterized job")
	}
	evaluation, err := h.run.Engine.Handle(h.run.Key(r)).Evaluate(order.EvalOptions.ForceReschedule)
	if err != nil {
		return nil, err
	}
	answer := &jobRegistered{EvalID: evaluation, JobModifyIndex: *j.JobModifyIndex}
	answer.EvalCreateIndex = h.run.Engine.State().Index(fold.Topic{Table: fold.Evaluations, Key: answer.EvalID})
	answer.Index = answer.EvalCreateIndex
	r.SetIndex(answer.Index)
	return answer, nil
}
