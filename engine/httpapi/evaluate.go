package httpapi

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// evaluateJob answers PUT /v1/job/:id/evaluate. The engine always has a job as
// it is to be, so there is nothing left for an evaluation to do.
func (s *Server) evaluateJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobEvaluateRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if order.JobID != "" && order.JobID != r.id {
		return nil, fail(http.StatusBadRequest, "JobID not same as job name")
	}
	run, j, err := s.findJob(r)
	switch {
	case err != nil:
		return nil, errors.New("job not found") // with this status, as in Nomad
	case j.IsPeriodic():
		return nil, errors.New("can't evaluate periodic job")
	case j.IsParameterized():
		return nil, errors.New("can't evaluate parameterized job")
	}
	if order.EvalOptions.ForceReschedule {
		for _, a := range run.allocs[r.id] {
			if known := s.tracker.alloc(a.ID); a.Status == api.AllocClientStatusFailed && known.next == "" {
				return nil, fail(http.StatusNotImplemented, "cannot reschedule allocation %s at once: taskrun keeps to the reschedule block of group %q", a.ID, a.Group)
			}
		}
	}
	answer := &jobRegistered{EvalID: s.tracker.reevaluate(r.id), JobModifyIndex: *j.JobModifyIndex}
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
