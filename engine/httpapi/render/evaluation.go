package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Evaluation describes an evaluation in the form of Nomad's API.
func (run *Run) Evaluation(e *fold.Evaluation) *api.Evaluation {
	namespace, id := event.SplitJobKey(e.Job)
	described := &api.Evaluation{
		ID: e.ID, JobID: id, Namespace: namespace, Type: e.Type, Priority: e.Priority, JobModifyIndex: e.JobIndex,
		TriggeredBy: string(e.Trigger), DeploymentID: e.Deployment, Status: api.EvalStatusComplete,
		QueuedAllocations: map[string]int{}, SnapshotIndex: e.Index, CreateIndex: e.Index, ModifyIndex: e.Index,
		CreateTime: e.Time.UnixNano(), ModifyTime: e.Time.UnixNano(),
	}
	if j, ok := run.Engine.Job(e.Job); ok {
		described.Namespace = *j.Namespace // the keys of a run that ends with its jobs have none
		for _, g := range j.TaskGroups {
			described.QueuedAllocations[*g.Name] = 0
		}
	}
	return described
}

// Evaluations returns the evaluations that keep accepts, oldest first.
func (run *Run) Evaluations(keep func(*fold.Evaluation) bool) []*api.Evaluation {
	list := []*api.Evaluation{}
	for _, e := range run.Tracker.Evaluations() {
		if keep(e) {
			list = append(list, run.Evaluation(e))
		}
	}
	return list
}
