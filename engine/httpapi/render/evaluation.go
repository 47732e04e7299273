package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
)

// Evaluation describes an evaluation in the form of Nomad's API.
func (now *Snapshot) Evaluation(e *fold.Evaluation) *api.Evaluation {
	described := &api.Evaluation{
		ID: e.ID, JobID: e.Job, TriggeredBy: string(e.Trigger), DeploymentID: e.Deployment, Namespace: api.DefaultNamespace, Status: api.EvalStatusComplete,
		QueuedAllocations: map[string]int{}, SnapshotIndex: e.Index, CreateIndex: e.Index, ModifyIndex: e.Index,
		CreateTime: e.Time.UnixNano(), ModifyTime: e.Time.UnixNano(),
	}
	if j := now.Job(e.Job); j != nil {
		described.Namespace, described.Type, described.Priority = *j.Namespace, *j.Type, *j.Priority
		described.JobModifyIndex = *j.JobModifyIndex
		for _, g := range j.TaskGroups {
			described.QueuedAllocations[*g.Name] = 0
		}
	}
	return described
}

// Evaluations returns the evaluations that a request may see and keep accepts,
// oldest first.
func (now *Snapshot) Evaluations(r *rest.Request, keep func(*fold.Evaluation) bool) []*api.Evaluation {
	list := []*api.Evaluation{}
	for _, e := range now.run.Tracker.Evaluations() {
		if described := now.Evaluation(e); keep(e) && r.InNamespace(described.Namespace) {
			list = append(list, described)
		}
	}
	return list
}
