package render

import (
	"github.com/hashicorp/nomad/api"
)

// Deployments describes the deployments of a job, given by its key, in the form
// of Nomad's API, oldest first. A purged job has none.
func (run *Run) Deployments(key string) (list []*api.Deployment) {
	j, ok := run.Engine.Job(key)
	if !ok {
		return nil
	}
	for _, d := range run.Engine.Handle(key).Deployments() {
		created, modified, changed := run.Tracker.Deployment(key, d.ID)
		index, _ := run.Tracker.Version(key, d.Version)
		if changed.IsZero() {
			changed = d.Began
		}
		described := &api.Deployment{
			ID: d.ID, Namespace: *j.Namespace, JobID: *j.ID, JobVersion: d.Version,
			JobModifyIndex: index, JobSpecModifyIndex: index, JobCreateIndex: run.created(key, j),
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
