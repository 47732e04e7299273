package httpapi

import (
	"errors"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
)

// scaleStatus answers GET /v1/job/:id/scale.
func (s *Server) scaleStatus(_ http.ResponseWriter, r *request) (any, error) {
	run, j, err := s.findJob(r)
	if err != nil {
		return nil, err
	}
	status := &api.JobScaleStatusResponse{
		JobID: *j.ID, Namespace: *j.Namespace, JobCreateIndex: *j.CreateIndex, JobModifyIndex: *j.ModifyIndex,
		JobStopped: *j.Stop, TaskGroups: map[string]api.TaskGroupScaleStatus{},
	}
	scalings := s.engine.Scalings(r.id)
	for _, g := range j.TaskGroups {
		group := api.TaskGroupScaleStatus{Desired: *g.Count, Events: scalings[*g.Name]}
		for _, a := range run.allocs[*j.ID] {
			if a.Group != *g.Name || s.tracker.alloc(a.ID).next != "" || a.Unwanted != "" {
				continue
			}
			group.Placed++
			if a.Status == api.AllocClientStatusRunning {
				group.Running++
			}
			switch {
			case a.Healthy == nil:
			case *a.Healthy:
				group.Healthy++
			default:
				group.Unhealthy++
			}
		}
		status.TaskGroups[*g.Name] = group
	}
	return status, nil
}

// scaleJob answers PUT /v1/job/:id/scale.
func (s *Server) scaleJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.ScalingRequest
	if err := r.decode(w, &order); err != nil {
		return nil, err
	}
	j := s.look().job(r.id)
	group := order.Target["Group"]
	switch {
	case j == nil || !r.inNamespace(*j.Namespace):
		return nil, fail(http.StatusNotFound, "job %q not found", r.id)
	case order.Target["Job"] != "" && order.Target["Job"] != r.id:
		return nil, fail(http.StatusBadRequest, "job ID in payload did not match URL")
	case group == "":
		return nil, fail(http.StatusBadRequest, "missing task group name for scaling action")
	case order.JobModifyIndex != 0 && order.JobModifyIndex != *j.JobModifyIndex:
		return nil, fail(http.StatusConflict, "job modify index conflict: the job is at %d", *j.JobModifyIndex)
	}
	plan, err := s.engine.Scale(r.id, engine.Scaling{
		Group: group, Count: order.Count, Message: order.Message, Error: order.Error, Meta: order.Meta,
	})
	var wrong engine.ScaleError
	switch {
	case errors.As(err, &wrong):
		return nil, fail(http.StatusBadRequest, "%v", err)
	case err != nil:
		return nil, err
	case plan == nil: // it was noted
		answer := &jobRegistered{JobModifyIndex: *j.JobModifyIndex}
		answer.Index = *j.ModifyIndex
		s.setIndex(w, answer.Index)
		return answer, nil
	}
	return s.registered(w, r.id, plan.Version), nil
}
