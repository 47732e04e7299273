package httpapi

import (
	"net/http"

	"github.com/hashicorp/nomad/api"
)

// jobRegistered is an answer as it is on the wire.
type jobRegistered struct {
	EvalID                          string
	EvalCreateIndex, JobModifyIndex uint64
	Warnings                        string
	queryMeta
}

// registerJob answers PUT /v1/jobs and PUT /v1/job/:id: another version of a
// job that runs. Others are refused.
func (s *Server) registerJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobRegisterRequest
	if err := r.decodeJob(w, &order); err != nil {
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
	warnings, faults := s.checkJob(OrderRegister, order.Job)
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
	if order.PreserveCounts {
		preserveCounts(order.Job, job)
	}
	plan, err := s.engine.Update(order.Job)
	if err != nil {
		return nil, err
	}
	if plan.Diff.Type != "None" {
		s.submissions.keep(id, plan.Version, order.Submission)
	}
	answer := s.registered(w, id, plan.Version)
	if order.Job.IsPeriodic() || order.Job.IsParameterized() { // nothing is placed, so clients are not to wait for that
		answer.EvalID, answer.EvalCreateIndex = "", 0
	}
	answer.Warnings = listed("warning", warnings)
	return answer, nil
}

// registered answers an order that has come to a version of a job, perhaps to
// the one that there was.
func (s *Server) registered(w http.ResponseWriter, id string, number uint64) *jobRegistered {
	answer := &jobRegistered{EvalID: s.tracker.evaluate(triggerRegister, id, version(id, number))}
	answer.JobModifyIndex = s.tracker.registeredAt(id)
	answer.EvalCreateIndex, answer.Index = answer.JobModifyIndex, answer.JobModifyIndex
	s.setIndex(w, answer.Index)
	return answer
}

// preserveCounts gives the groups of a version the counts that they have.
func preserveCounts(next, now *api.Job) {
	for _, g := range next.TaskGroups {
		if was := now.LookupTaskGroup(*g.Name); was != nil {
			g.Count = was.Count
		}
	}
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
