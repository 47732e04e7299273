package jobs

import (
	"fmt"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// jobRegistered is the response in its wire format.
type jobRegistered struct {
	EvalID                          string
	EvalCreateIndex, JobModifyIndex uint64
	Warnings                        string
	queryMeta
}

// Register answers PUT /v1/jobs and PUT /v1/job/:id: a new version of a job of
// this run. It refuses other jobs.
func (h *Handler) Register(r *rest.Request, order *api.JobRegisterRequest) (any, error) {
	warnings, err := h.accept(r, OrderRegister, order.Job, order.Namespace, "Job ID hasn't been provided", "Job ID does not match name")
	if err != nil {
		return nil, err
	}
	id := *order.Job.ID
	job := h.run.Job(id)
	if err := enforceIndex(order, job); err != nil {
		return nil, err
	}
	if job == nil {
		return nil, rest.Fail(http.StatusNotImplemented, "job %q is not one of this run, which takes no others: start it with taskrun up", id)
	}
	if order.PreserveCounts {
		preserveCounts(order.Job, job)
	}
	plan, err := h.run.Engine.Update(order.Job)
	if err != nil {
		return nil, err
	}
	if plan.Diff.Type != "None" {
		h.submissions.keep(id, plan.Version, order.Submission)
	}
	answer := h.registered(r, id, plan.Version)
	if order.Job.IsPeriodic() || order.Job.IsParameterized() { // nothing is placed that clients could wait for
		answer.EvalID, answer.EvalCreateIndex = "", 0
	}
	answer.Warnings = warnings
	return answer, nil
}

// registered responds to an order that resulted in a version of a job, possibly
// the existing one.
func (h *Handler) registered(r *rest.Request, id string, number uint64) *jobRegistered {
	answer := &jobRegistered{}
	answer.JobModifyIndex, answer.EvalID = h.run.Tracker.Version(id, number)
	answer.EvalCreateIndex, answer.Index = answer.JobModifyIndex, answer.JobModifyIndex
	r.SetIndex(answer.Index)
	return answer
}

// preserveCounts sets the counts in a version to the current ones.
func preserveCounts(next, now *api.Job) {
	for _, g := range next.TaskGroups {
		if was := now.LookupTaskGroup(*g.Name); was != nil {
			g.Count = was.Count
		}
	}
}

// enforceIndex refuses a version that is based on an outdated one. The texts
// are Nomad's, because clients parse them.
func enforceIndex(order *api.JobRegisterRequest, job *api.Job) error {
	switch {
	case !order.EnforceIndex:
		return nil
	case job == nil && order.JobModifyIndex != 0:
		return rest.Fail(http.StatusInternalServerError, "Enforcing job modify index %d: job does not exist", order.JobModifyIndex)
	case job != nil && order.JobModifyIndex == 0:
		return rest.Fail(http.StatusInternalServerError, "Enforcing job modify index 0: job already exists")
	case job != nil && order.JobModifyIndex != *job.JobModifyIndex:
		return conflict(order.JobModifyIndex, *job.JobModifyIndex)
	}
	return nil
}

// conflict refuses a change that is based on another index than the job's.
func conflict(given, actual uint64) error {
	return fmt.Errorf("Enforcing job modify index %d: job exists with conflicting job modify index: %d", given, actual) //nolint:staticcheck // Nomad's words
}

// Revert answers PUT /v1/job/:id/revert: an earlier version becomes the
// newest one.
func (h *Handler) Revert(r *rest.Request, order *api.JobRevertRequest) (any, error) {
	if order.JobID != "" && order.JobID != r.ID {
		return nil, rest.Fail(http.StatusBadRequest, "Job ID does not match")
	}
	if _, _, err := h.run.FindJob(r); err != nil {
		return nil, rest.Fail(http.StatusNotFound, "job %q not found", r.ID)
	}
	plan, err := h.run.Engine.Revert(h.run.Key(r), order.JobVersion, order.EnforcePriorVersion)
	if err != nil {
		return nil, err
	}
	return h.registered(r, h.run.Key(r), plan.Version), nil
}
