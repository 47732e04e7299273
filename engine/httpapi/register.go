package httpapi

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// jobRegistered is an answer as it is on the wire.
type jobRegistered struct {
	EvalID                          string
	EvalCreateIndex, JobModifyIndex uint64
	Warnings                        string
	queryMeta
}

// registerJob answers PUT /v1/jobs and PUT /v1/job/:id: another version of a job that runs, if that
// leaves its allocations running. All else is refused.
func (s *Server) registerJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobRegisterRequest
	if err := s.decodeJob(w, r, &order); err != nil {
		return nil, err
	}
	switch {
	case order.Job == nil:
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	case order.Job.ID == nil:
		return nil, fail(http.StatusBadRequest, "Job ID hasn't been provided")
	case r.id != "" && r.id != *order.Job.ID:
		return nil, fail(http.StatusBadRequest, "Job ID does not match name")
	}
	warnings, faults := checkJob(order.Job)
	if len(faults) > 0 {
		return nil, fail(http.StatusInternalServerError, "%s", listed("error", faults))
	}
	id := *order.Job.ID
	job := s.look().job(id)
	if err := enforceIndex(&order, job); err != nil {
		return nil, err
	}
	if job == nil {
		return nil, fail(http.StatusNotImplemented, "job %q is not one of this run, which takes no others: start it with taskrun up", id)
	}
	plan, err := s.engine.Update(order.Job)
	switch {
	case errors.Is(err, engine.ErrMoves):
		return nil, fail(http.StatusNotImplemented, "cannot change job %q: %v", id, err)
	case err != nil:
		return nil, err
	}
	subject := version(id, *job.Version)
	if plan.Diff.Type != "None" {
		subject = version(id, *order.Job.Version)
		s.submissions.keep(id, *order.Job.Version, order.Submission)
	}
	answer := &jobRegistered{EvalID: s.tracker.evaluate(triggerRegister, id, subject), Warnings: listed("warning", warnings)}
	answer.JobModifyIndex = s.tracker.registeredAt(id)
	answer.EvalCreateIndex, answer.Index = answer.JobModifyIndex, answer.JobModifyIndex
	s.setIndex(w, answer.Index)
	return answer, nil
}

// enforceIndex refuses a version that was made of another one than runs; the
// texts are those that clients take apart.
func enforceIndex(order *api.JobRegisterRequest, job *api.Job) error {
	const conflict = "Enforcing job modify index %d: job exists with conflicting job modify index: %d"
	switch {
	case !order.EnforceIndex:
		return nil
	case job == nil && order.JobModifyIndex != 0:
		return fail(http.StatusInternalServerError, "Enforcing job modify index %d: job does not exist", order.JobModifyIndex)
	case job != nil && order.JobModifyIndex == 0:
		return fail(http.StatusInternalServerError, "Enforcing job modify index 0: job already exists")
	case job != nil && order.JobModifyIndex != *job.JobModifyIndex:
		return fail(http.StatusInternalServerError, conflict, order.JobModifyIndex, *job.JobModifyIndex)
	}
	return nil
}
