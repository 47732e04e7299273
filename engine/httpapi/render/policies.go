package render

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// AddPolicies replaces the scaling blocks of a job by the policies that Nomad's
// server creates from them. It only changes j, which must be a copy.
func (run *Run) AddPolicies(j *api.Job) {
	j.TaskGroups = slices.Clone(j.TaskGroups)
	scaled := func(t *api.Task) bool { return len(t.ScalingPolicies) > 0 }
	for i, group := range j.TaskGroups {
		if group.Scaling == nil && !slices.ContainsFunc(group.Tasks, scaled) {
			continue
		}
		g := *group
		if g.Scaling != nil {
			g.Scaling = run.scalingPolicy(j, g.Scaling, "Group", *g.Name)
		}
		g.Tasks = slices.Clone(g.Tasks)
		for k, task := range g.Tasks {
			t := *task
			t.ScalingPolicies = nil
			for _, p := range task.ScalingPolicies {
				t.ScalingPolicies = append(t.ScalingPolicies, run.scalingPolicy(j, p, "Group", *g.Name, "Task", t.Name))
			}
			g.Tasks[k] = &t
		}
		j.TaskGroups[i] = &g
	}
}

// scalingPolicy describes a policy. The target is a list of alternating names
// and values.
func (run *Run) scalingPolicy(j *api.Job, p *api.ScalingPolicy, target ...string) *api.ScalingPolicy {
	policy := *p
	policy.Namespace = "" // Nomad only sends that of the target
	policy.Target = map[string]string{"Namespace": *j.Namespace, "Job": *j.ID}
	for i := 0; i < len(target); i += 2 {
		policy.Target[target[i]] = target[i+1]
	}
	if policy.Enabled == nil {
		policy.Enabled = new(true)
	}
	policy.ID = run.Tracker.PolicyID(append([]string{run.KeyOf(j), p.Type}, target...)...)
	policy.CreateIndex, policy.ModifyIndex = *j.CreateIndex, *j.JobModifyIndex
	return &policy
}
