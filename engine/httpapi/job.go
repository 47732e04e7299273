package httpapi

import (
	"maps"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// getJob answers GET /v1/job/:id.
func (s *Server) getJob(_ http.ResponseWriter, r *request) (any, error) {
	_, j, err := s.findJob(r)
	return j, err
}

// jobSummary answers GET /v1/job/:id/summary.
func (s *Server) jobSummary(_ http.ResponseWriter, r *request) (any, error) {
	run, j, err := s.findJob(r)
	if err != nil {
		return nil, err
	}
	return s.summary(run, j), nil
}

// jobAllocations answers GET /v1/job/:id/allocations; of a job that is not
// known there are none.
func (s *Server) jobAllocations(_ http.ResponseWriter, r *request) (any, error) {
	return s.allocStubs(r, s.look().allocs[r.id])
}

// dispatchJob answers PUT /v1/job/:id/dispatch.
func (s *Server) dispatchJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobDispatchRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	if order.Priority < 0 || order.Priority > maxPriority {
		return nil, fail(http.StatusBadRequest, "job priority must be between [1, %d]", maxPriority)
	}
	if err := s.checkDispatch(r.id, order.Meta); err != nil {
		return nil, err
	}
	id, again, err := s.engine.Dispatch(r.id, engine.Dispatch{
		Payload: order.Payload, Meta: order.Meta, Prefix: order.IdPrefixTemplate, Priority: order.Priority,
		Token: r.query.Get("idempotency_token"),
	})
	if err != nil {
		return nil, err
	}
	answer := &api.JobDispatchResponse{DispatchedJobID: id}
	if !again { // else there is nothing new to be evaluated
		answer.EvalID = s.tracker.evaluate(triggerRegister, id, version(id, 0))
	}
	return answer, nil
}

// checkDispatch refuses to run a parameterized job that can no longer work.
func (s *Server) checkDispatch(id string, meta map[string]string) error {
	job := s.look().job(id)
	if job == nil || !job.IsParameterized() {
		return nil // which the engine says
	}
	child := *job
	child.Meta = maps.Clone(job.Meta)
	for key, value := range meta {
		child.SetMeta(key, value)
	}
	if _, faults := s.checkJob(OrderDispatch, &child); len(faults) > 0 {
		return fail(http.StatusInternalServerError, "%s", listed("error", faults))
	}
	return nil
}

// maxPriority is the highest priority of a job, as in Nomad by default.
const maxPriority = 100

// forcePeriodic answers PUT /v1/job/:id/periodic/force.
func (s *Server) forcePeriodic(_ http.ResponseWriter, r *request) (any, error) {
	if _, _, err := s.findJob(r); err != nil {
		return nil, err
	}
	id, err := s.engine.Launch(r.id)
	if err != nil {
		return nil, err
	}
	evaluation := s.tracker.evaluate(triggerRegister, id, version(id, 0))
	return struct {
		EvalID                 string
		EvalCreateIndex, Index uint64
	}{evaluation, s.tracker.index(evaluationTopic(evaluation)), s.tracker.index(jobTopic(id))}, nil
}

func (s *Server) findJob(r *request) (*run, *api.Job, error) {
	run := s.look()
	if j := run.job(r.id); j != nil && r.inNamespace(*j.Namespace) {
		return run, j, nil
	}
	return nil, nil, fail(http.StatusNotFound, "job not found")
}

// withState returns a copy of a job with what Nomad's server would have added.
func (s *Server) withState(run *run, j *api.Job) *api.Job {
	job := *j
	created, modified := uint64(firstIndex), s.tracker.index(jobTopic(*j.ID))
	if allocs := run.allocs[*j.ID]; *j.ParentID != "" && len(allocs) > 0 {
		created = s.tracker.alloc(allocs[0].ID).created
	}
	registered := max(created, s.tracker.registeredAt(*j.ID))
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = &created, &modified, &registered
	job.Status, job.Stop = new(s.jobStatus(run, j)), new(s.engine.Stopped(*j.ID))
	s.addPolicies(&job)
	return &job
}

// jobStatus is the status of a job as Nomad's server decides it. A job one of
// whose allocations will be replaced is pending meanwhile.
func (s *Server) jobStatus(run *run, j *api.Job) string {
	if run.over || s.engine.Ended(*j.ID) {
		return "dead"
	}
	if j.IsPeriodic() || j.IsParameterized() {
		return "running"
	}
	status := "dead"
	if len(run.allocs[*j.ID]) == 0 {
		status = "pending"
	}
	for _, a := range run.allocs[*j.ID] {
		if !terminal(a.Status) {
			return "running"
		}
		if s.tracker.alloc(a.ID).awaited {
			status = "pending"
		}
	}
	return status
}

func terminal(clientStatus string) bool {
	return clientStatus == api.AllocClientStatusComplete || clientStatus == api.AllocClientStatusFailed
}

// summary counts a job's allocations and the jobs that run in its name.
func (s *Server) summary(run *run, j *api.Job) *api.JobSummary {
	sum := &api.JobSummary{
		JobID: *j.ID, Namespace: *j.Namespace, Summary: map[string]api.TaskGroupSummary{}, Children: &api.JobChildrenSummary{},
		CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex,
	}
	if !j.IsPeriodic() && !j.IsParameterized() {
		for _, g := range j.TaskGroups {
			sum.Summary[*g.Name] = api.TaskGroupSummary{}
		}
	}
	for _, a := range run.allocs[*j.ID] {
		g := sum.Summary[a.Group]
		switch a.Status {
		case api.AllocClientStatusRunning:
			g.Running++
		case api.AllocClientStatusComplete:
			g.Complete++
		case api.AllocClientStatusFailed:
			g.Failed++
		default:
			g.Starting++
		}
		sum.Summary[a.Group] = g
	}
	for _, child := range run.jobs {
		if *child.ParentID != *j.ID {
			continue
		}
		switch *child.Status {
		case "running":
			sum.Children.Running++
		case "pending":
			sum.Children.Pending++
		default:
			sum.Children.Dead++
		}
	}
	return sum
}
