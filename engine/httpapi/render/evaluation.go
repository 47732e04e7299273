package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Evaluation describes an evaluation in Nomad's words.
func (now *Snapshot) Evaluation(e tracker.Evaluation) *api.Evaluation {
	described := &api.Evaluation{
		ID: e.ID, JobID: e.Job, TriggeredBy: e.Trigger, Namespace: api.DefaultNamespace, Status: api.EvalStatusComplete,
		QueuedAllocations: map[string]int{}, SnapshotIndex: e.Index, CreateIndex: e.Index, ModifyIndex: e.Index,
		CreateTime: e.At.UnixNano(), ModifyTime: e.At.UnixNano(),
	}
	described.DeploymentID = now.run.deploymentOf(e)
	if j := now.Job(e.Job); j != nil {
		described.Namespace, described.Type, described.Priority = *j.Namespace, *j.Type, *j.Priority
		described.JobModifyIndex = *j.JobModifyIndex
		for _, g := range j.TaskGroups {
			described.QueuedAllocations[*g.Name] = 0
		}
	}
	return described
}

// deploymentOf returns the ID of the deployment that an evaluation belongs to;
// empty for none.
func (run *Run) deploymentOf(e tracker.Evaluation) string {
	if e.Trigger != tracker.TriggerRegister && e.Trigger != tracker.TriggerDeployment {
		return ""
	}
	versions, err := run.Engine.Versions(e.Job)
	list := run.Engine.Deployments(e.Job)
	if err != nil || len(list) == 0 {
		return ""
	}
	for _, j := range versions {
		if run.Tracker.Registration(e.Job, *j.Version) != e.ID {
			continue
		}
		for _, d := range list {
			if d.Version == *j.Version {
				return d.ID
			}
		}
		return ""
	}
	return list[len(list)-1].ID // of no version's beginning
}

// Evaluations are those that a request may see and that keep lets pass, oldest
// first.
func (now *Snapshot) Evaluations(r *rest.Request, keep func(tracker.Evaluation) bool) []*api.Evaluation {
	list := []*api.Evaluation{}
	for _, e := range now.run.Tracker.Evaluations() {
		if described := now.Evaluation(e); keep(e) && r.InNamespace(described.Namespace) {
			list = append(list, described)
		}
	}
	return list
}
