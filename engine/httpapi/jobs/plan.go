package jobs

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
)

// jobPlanned is an api.JobPlanResponse in its wire format.
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

// Plan answers PUT /v1/job/:id/plan with the changes that a version of a job would
// cause.
func (h *Handler) Plan(r *rest.Request, order *api.JobPlanRequest) (any, error) {
	warnings, err := h.accept(r, OrderPlan, order.Job, order.Namespace, "Job must have a valid ID", "Job ID does not match")
	if err != nil {
		return nil, err
	}
	plan, err := h.run.Engine.Plan(order.Job)
	if err != nil {
		return nil, err
	}
	answer := &jobPlanned{
		Annotations: plan.Annotations(), Diff: plan.Diff, Warnings: listed("warning", warnings),
	}
	if !order.Job.IsPeriodic() && !order.Job.IsParameterized() {
		answer.CreatedEvals = []*api.Evaluation{evaluation(order.Job)}
	}
	if !order.Diff {
		answer.Diff = nil
	}
	if j := h.run.Job(h.run.KeyOf(order.Job)); j != nil {
		answer.JobModifyIndex, answer.Index = *j.JobModifyIndex, *j.ModifyIndex
	}
	if order.Job.IsPeriodic() {
		if next, err := order.Job.Periodic.Next(time.Now()); err == nil && !next.IsZero() {
			answer.NextPeriodicLaunch = &next
		}
	}
	r.SetIndex(answer.Index)
	return answer, nil
}

// evaluation returns the evaluation that a registration of the job would create.
func evaluation(job *api.Job) *api.Evaluation {
	return &api.Evaluation{
		ID: chance.Source{}.ID(), Namespace: *job.Namespace, JobID: *job.ID, Type: *job.Type, Priority: *job.Priority,
		TriggeredBy: string(event.JobRegister), Status: api.EvalStatusPending,
	}
}
