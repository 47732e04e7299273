package jobs

import (
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// ScaleStatus answers GET /v1/job/:id/scale.
func (h *Handler) ScaleStatus(r *rest.Request) (any, error) {
	now, j, err := h.run.FindJob(r)
	if err != nil {
		return nil, err
	}
	status := &api.JobScaleStatusResponse{
		JobID: *j.ID, Namespace: *j.Namespace, JobCreateIndex: *j.CreateIndex, JobModifyIndex: *j.ModifyIndex,
		JobStopped: *j.Stop, TaskGroups: map[string]api.TaskGroupScaleStatus{},
	}
	scalings := h.run.Engine.Handle(h.run.Key(r)).Scalings()
	for _, g := range j.TaskGroups {
		group := api.TaskGroupScaleStatus{Desired: *g.Count, Events: scalings[*g.Name]}
		for _, a := range now.Allocs(j) {
			if a.Group != *g.Name || a.Canary || tracker.Terminal(a.Status) || a.Unwanted != "" {
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

// Scale answers PUT /v1/job/:id/scale.
func (h *Handler) Scale(r *rest.Request, order *api.ScalingRequest) (any, error) {
	group, namespace := order.Target["Group"], order.Target["Namespace"]
	switch {
	case namespace != "" && h.run.Resident && namespace != r.Namespace():
		return nil, rest.Fail(http.StatusBadRequest, "namespace in payload did not match header")
	case order.Target["Job"] != "" && order.Target["Job"] != r.ID:
		return nil, rest.Fail(http.StatusBadRequest, "job ID in payload did not match URL")
	case group == "":
		return nil, rest.Fail(http.StatusBadRequest, "missing task group name for scaling action")
	}
	_, j, err := h.run.FindJob(r)
	switch {
	case err != nil:
		return nil, rest.Fail(http.StatusNotFound, "job %q not found", r.ID)
	case order.JobModifyIndex != 0 && order.JobModifyIndex != *j.JobModifyIndex:
		return nil, conflict(order.JobModifyIndex, *j.JobModifyIndex)
	}
	key := h.run.Key(r)
	plan, err := h.run.Engine.Handle(key).Scale(engine.Scaling{
		Group: group, Count: order.Count, Message: order.Message, Error: order.Error, Meta: order.Meta,
	})
	var wrong engine.ScaleError
	switch {
	case errors.As(err, &wrong):
		return nil, rest.Fail(http.StatusBadRequest, "%v", err)
	case err != nil:
		return nil, err
	case plan == nil: // the event was only recorded
		answer := &jobRegistered{JobModifyIndex: *j.JobModifyIndex}
		answer.Index = h.run.Engine.State().Index(fold.Topic{Table: fold.ScaleOfJob, Key: key})
		r.SetIndex(answer.Index)
		return answer, nil
	}
	return h.registered(r, h.version(key, plan.Version)), nil
}

// ScalingPolicies answers GET /v1/scaling/policies.
func (h *Handler) ScalingPolicies(r *rest.Request) (any, error) {
	stubs := []*api.ScalingPolicyListStub{}
	job, kind, prefix := r.Query.Get("job"), r.Query.Get("type"), r.Query.Get("prefix")
	for _, p := range h.run.Look().Policies(r) {
		if (job == "" || p.Target["Job"] == job) && strings.HasPrefix(p.Type, kind) && strings.HasPrefix(rest.PlainID(p.ID), rest.PlainID(prefix)) {
			stubs = append(stubs, &api.ScalingPolicyListStub{
				ID: p.ID, Enabled: *p.Enabled, Type: p.Type, Target: p.Target, CreateIndex: p.CreateIndex, ModifyIndex: p.ModifyIndex,
			})
		}
	}
	return rest.Page(r, stubs, func(p *api.ScalingPolicyListStub) string { return p.ID })
}

// ScalingPolicy answers GET /v1/scaling/policy/:id.
func (h *Handler) ScalingPolicy(r *rest.Request) (any, error) {
	for _, p := range h.run.Look().Policies(r) {
		if p.ID == r.ID {
			return p, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "policy not found")
}
