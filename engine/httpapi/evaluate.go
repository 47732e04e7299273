package httpapi

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// evaluateJob answers PUT /v1/job/:id/evaluate. The engine always has a job as
// it is to be, so all that an evaluation can do is to replace what has failed
// sooner.
func (s *Server) evaluateJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobEvaluateRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if order.JobID != "" && order.JobID != r.id {
		return nil, fail(http.StatusBadRequest, "JobID not same as job name")
	}
	_, j, err := s.findJob(r)
	switch {
	case err != nil:
		return nil, errors.New("job not found") // with this status, as in Nomad
	case j.IsPeriodic():
		return nil, errors.New("can't evaluate periodic job")
	case j.IsParameterized():
		return nil, errors.New("can't evaluate parameterized job")
	}
	answer := &jobRegistered{EvalID: s.tracker.reevaluate(r.id), JobModifyIndex: *j.JobModifyIndex}
	if order.EvalOptions.ForceReschedule {
		if _, err := s.engine.Reschedule(r.id); err != nil {
			return nil, err
		}
	}
	answer.EvalCreateIndex = s.tracker.index(evaluationTopic(answer.EvalID))
	answer.Index = answer.EvalCreateIndex
	s.setIndex(w, answer.Index)
	return answer, nil
}

// reevaluate makes an evaluation of a job because somebody wants one.
func (t *tracker) reevaluate(job string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	id := t.evaluationID(triggerRegister, "again "+job+" "+strconv.FormatUint(t.now, 10))
	t.keepEvaluation(id, job, triggerRegister, "EvaluationUpdated")
	t.flush()
	return id
}
