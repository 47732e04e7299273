package httpapi

import (
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"
)

// jobPlanned is an api.JobPlanResponse as it is on the wire.
type jobPlanned struct {
	Annotations        *api.PlanAnnotations
	FailedTGAllocs     map[string]*api.AllocationMetric
	JobModifyIndex     uint64
	CreatedEvals       []*api.Evaluation
	Diff               *api.JobDiff
	NextPeriodicLaunch *time.Time
	Warnings           string
	Index              uint64
}

// planJob answers PUT /v1/job/:id/plan: what a version of a job would change.
func (s *Server) planJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobPlanRequest
	if err := r.decodeJob(w, &order); err != nil {
		return nil, err
	}
	switch {
	case order.Job == nil:
		return nil, fail(http.StatusBadRequest, "Job must be specified")
	case order.Job.ID == nil:
		return nil, fail(http.StatusBadRequest, "Job must have a valid ID")
	case *order.Job.ID != r.id:
		return nil, fail(http.StatusBadRequest, "Job ID does not match")
	}
	warnings, faults := s.checkJob(OrderPlan, order.Job)
	if len(faults) > 0 {
		return nil, fail(http.StatusInternalServerError, "%s", listed("error", faults))
	}
	plan, err := s.engine.Plan(order.Job)
	if err != nil {
		return nil, err
	}
	answer := &jobPlanned{Annotations: plan.Annotations(), Diff: plan.Diff, Warnings: listed("warning", warnings)}
	if !order.Diff {
		answer.Diff = &api.JobDiff{Type: plan.Diff.Type, ID: plan.Diff.ID}
	}
	if j := s.look().job(r.id); j != nil {
		answer.JobModifyIndex, answer.Index = *j.JobModifyIndex, *j.ModifyIndex
	}
	if order.Job.IsPeriodic() {
		if next, err := order.Job.Periodic.Next(time.Now()); err == nil && !next.IsZero() {
			answer.NextPeriodicLaunch = &next
		}
	}
	s.setIndex(w, answer.Index)
	return answer, nil
}
