package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// scalingPolicies are the scaling blocks that a request may see. Nothing acts
// on them by itself, here as in Nomad.
func (s *Server) scalingPolicies(r *request) (list []*api.ScalingPolicy) {
	for _, j := range s.look().jobs {
		if !r.inNamespace(*j.Namespace) {
			continue
		}
		for _, g := range j.TaskGroups {
			if g.Scaling != nil {
				list = append(list, g.Scaling)
			}
			for _, t := range g.Tasks {
				list = append(list, t.ScalingPolicies...)
			}
		}
	}
	slices.SortFunc(list, func(a, b *api.ScalingPolicy) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// addPolicies replaces the scaling blocks of a job with the policies that
// Nomad's server makes of them. It writes to the job alone, which is a copy.
func (s *Server) addPolicies(j *api.Job) {
	j.TaskGroups = slices.Clone(j.TaskGroups)
	scaled := func(t *api.Task) bool { return len(t.ScalingPolicies) > 0 }
	for i, group := range j.TaskGroups {
		if group.Scaling == nil && !slices.ContainsFunc(group.Tasks, scaled) {
			continue
		}
		g := *group
		if g.Scaling != nil {
			g.Scaling = s.scalingPolicy(j, g.Scaling, "Group", *g.Name)
		}
		g.Tasks = slices.Clone(g.Tasks)
		for k, task := range g.Tasks {
			t := *task
			t.ScalingPolicies = nil
			for _, p := range task.ScalingPolicies {
				t.ScalingPolicies = append(t.ScalingPolicies, s.scalingPolicy(j, p, "Group", *g.Name, "Task", t.Name))
			}
			g.Tasks[k] = &t
		}
		j.TaskGroups[i] = &g
	}
}

// scalingPolicy describes a policy, whose target is given in pairs.
func (s *Server) scalingPolicy(j *api.Job, p *api.ScalingPolicy, target ...string) *api.ScalingPolicy {
	policy := *p
	policy.Namespace = *j.Namespace
	policy.Target = map[string]string{"Namespace": *j.Namespace, "Job": *j.ID}
	for i := 0; i < len(target); i += 2 {
		policy.Target[target[i]] = target[i+1]
	}
	if policy.Enabled == nil {
		policy.Enabled = new(true)
	}
	policy.ID = s.tracker.policyID(append([]string{*j.ID, p.Type}, target...)...)
	policy.CreateIndex, policy.ModifyIndex = *j.CreateIndex, *j.JobModifyIndex
	return &policy
}

// policyID follows from what a policy is for.
func (t *tracker) policyID(target ...string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evaluationID("scaling-policy", strings.Join(target, "\x00"))
}

// listScalingPolicies answers GET /v1/scaling/policies.
func (s *Server) listScalingPolicies(_ http.ResponseWriter, r *request) (any, error) {
	stubs := []*api.ScalingPolicyListStub{}
	job, kind, prefix := r.query.Get("job"), r.query.Get("type"), r.query.Get("prefix")
	for _, p := range s.scalingPolicies(r) {
		if (job == "" || p.Target["Job"] == job) && strings.HasPrefix(p.Type, kind) && strings.HasPrefix(plainID(p.ID), plainID(prefix)) {
			stubs = append(stubs, &api.ScalingPolicyListStub{
				ID: p.ID, Enabled: *p.Enabled, Type: p.Type, Target: p.Target, CreateIndex: p.CreateIndex, ModifyIndex: p.ModifyIndex,
			})
		}
	}
	return page(r, stubs, func(p *api.ScalingPolicyListStub) string { return p.ID })
}

// getScalingPolicy answers GET /v1/scaling/policy/:id.
func (s *Server) getScalingPolicy(_ http.ResponseWriter, r *request) (any, error) {
	for _, p := range s.scalingPolicies(r) {
		if p.ID == r.id {
			return p, nil
		}
	}
	return nil, fail(http.StatusNotFound, "policy not found")
}
