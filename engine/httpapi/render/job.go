package render

import (
	"cmp"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Summary counts a job's allocations and children.
func (now *Snapshot) Summary(j *api.Job) *api.JobSummary {
	sum := &api.JobSummary{
		JobID: *j.ID, Namespace: *j.Namespace, Summary: map[string]api.TaskGroupSummary{}, Children: &api.JobChildrenSummary{},
		CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex,
	}
	for _, g := range j.TaskGroups {
		sum.Summary[*g.Name] = api.TaskGroupSummary{}
	}
	for _, a := range now.Allocs(j) {
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
	for _, child := range now.children[now.run.KeyOf(j)] {
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

// Policies returns the scaling blocks that a request may see. As in Nomad,
// nothing acts on them automatically.
func (now *Snapshot) Policies(r *rest.Request) (list []*api.ScalingPolicy) {
	for _, j := range now.Jobs {
		if !r.InNamespace(*j.Namespace) {
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
