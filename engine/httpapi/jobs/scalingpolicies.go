package jobs

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

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
