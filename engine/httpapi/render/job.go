package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/tracker"
)

// withState returns a copy of a job with the fields that Nomad's server adds.
func (now *Snapshot) withState(j *api.Job) *api.Job {
	job := *j
	created, modified := uint64(fold.FirstIndex), now.run.Engine.State().Index(fold.Topic{Table: fold.Jobs, Key: *j.ID})
	if allocs := now.Allocs[*j.ID]; *j.ParentID != "" && len(allocs) > 0 {
		created = now.run.Tracker.Alloc(allocs[0].ID).Created
	}
	registered, _ := now.run.Tracker.Version(*j.ID, *j.Version)
	registered = max(created, registered)
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = &created, &modified, &registered
	stopped, ended := now.run.Engine.Ending(*j.ID)
	job.Stop, job.Status = &stopped, new(now.jobStatus(j, stopped, ended))
	now.run.AddPolicies(&job)
	return &job
}

// jobStatus returns the status of a job by the rules of Nomad's server. A job
// is pending while one of its allocations is about to be replaced. A job that
// only launches others is dead as soon as it is stopped.
func (now *Snapshot) jobStatus(j *api.Job, stopped, ended bool) string {
	launches := j.IsPeriodic() || j.IsParameterized()
	switch {
	case now.Over, ended, launches && stopped:
		return "dead"
	case launches:
		return "running"
	}
	status := "dead"
	if len(now.Allocs[*j.ID]) == 0 {
		status = "pending"
	}
	for _, a := range now.Allocs[*j.ID] {
		if !tracker.Terminal(a.Status) {
			return "running"
		}
		if now.run.Tracker.Alloc(a.ID).Awaited {
			status = "pending"
		}
	}
	return status
}

// Summary counts a job's allocations and children.
func (now *Snapshot) Summary(j *api.Job) *api.JobSummary {
	sum := &api.JobSummary{
		JobID: *j.ID, Namespace: *j.Namespace, Summary: map[string]api.TaskGroupSummary{}, Children: &api.JobChildrenSummary{},
		CreateIndex: *j.CreateIndex, ModifyIndex: *j.ModifyIndex,
	}
	if !j.IsPeriodic() && !j.IsParameterized() {
		for _, g := range j.TaskGroups {
			sum.Summary[*g.Name] = api.TaskGroupSummary{}
		}
	}
	for _, a := range now.Allocs[*j.ID] {
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
	for _, child := range now.Jobs {
		if *child.ParentID != *j.ID {
			continue
		}
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
