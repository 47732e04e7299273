package jobs

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
)

// Evaluate answers PUT /v1/job/:id/evaluate. The engine's jobs are always up to
// date, so an evaluation can only replace failed allocations sooner.
func (h *Handler) Evaluate(r *rest.Request, order *api.JobEvaluateRequest) (any, error) {
	if order.JobID != "" && order.JobID != r.ID {
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
	evaluation, err := h.run.Engine.Evaluate(h.run.Key(r), order.EvalOptions.ForceReschedule)
	if err != nil {
		return nil, err
	}
	answer := &jobRegistered{EvalID: evaluation, JobModifyIndex: *j.JobModifyIndex}
	answer.EvalCreateIndex = h.run.Engine.State().Index(fold.Topic{Table: fold.Evaluations, Key: answer.EvalID})
	answer.Index = answer.EvalCreateIndex
	r.SetIndex(answer.Index)
	return answer, nil
}
