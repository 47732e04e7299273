package render

import (
	"github.com/hashicorp/nomad/api"
)

// Deployments describes the deployments of a job in the form of Nomad's API,
// oldest first.
func (now *Snapshot) Deployments(job string) (list []*api.Deployment) {
	j := now.Job(job)
	if j == nil {
		return nil
	}
	for _, d := range now.run.Engine.Deployments(job) {
		created, modified, changed := now.run.Tracker.Deployment(d.ID)
		index, _ := now.run.Tracker.Version(job, d.Version)
		if changed.IsZero() {
			changed = d.Began
		}
		described := &api.Deployment{
			ID: d.ID, Namespace: *j.Namespace, JobID: job, JobVersion: d.Version,
			JobModifyIndex: index, JobSpecModifyIndex: index, JobCreateIndex: *j.CreateIndex,
			TaskGroups: map[string]*api.DeploymentState{}, Status: d.Status, StatusDescription: d.Description,
			CreateIndex: created, ModifyIndex: modified, CreateTime: d.Began.UnixNano(), ModifyTime: changed.UnixNano(),
		}
		for name, g := range d.Groups {
			described.TaskGroups[name] = &api.DeploymentState{
				AutoRevert: g.AutoRevert, Promoted: g.Promoted, ProgressDeadline: g.Progress, RequireProgressBy: g.Deadline,
				DesiredCanaries: g.Canaries, DesiredTotal: g.Desired, PlacedCanaries: g.PlacedCanaries, PlacedAllocs: g.Placed,
				HealthyAllocs: len(g.Healthy), UnhealthyAllocs: len(g.Unhealthy),
			}
		}
		list = append(list, described)
	}
	return list
}
