package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/httpapi/tracker"
)

// withState returns a copy of a job with the fields that Nomad's server adds.
func (now *Snapshot) withState(key string, j *api.Job) *api.Job {
	job := *j
	modified := now.run.Engine.State().Index(fold.Topic{Table: fold.Jobs, Key: key})
	registered, _ := now.run.Tracker.Version(key, *j.Version)
	created := now.run.created(key, j)
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = &created, &modified, &registered
	stopped, ended := now.run.Engine.Ending(key)
	job.Stop, job.Status = &stopped, new(now.jobStatus(key, j, stopped, ended))
	now.run.AddPolicies(&job)
	return &job
}

// created returns the index of the first registration of a job.
func (run *Run) created(key string, j *api.Job) uint64 {
	if j.CreateIndex != nil && *j.CreateIndex > 0 {
		return *j.CreateIndex
	}
	index, _ := run.Tracker.Version(key, *j.Version)
	return index
}

// jobStatus returns the status of a job by the rules of Nomad's server. A job
// is pending while one of its allocations is about to be replaced. A job that
// only launches others is dead as soon as it is stopped.
func (now *Snapshot) jobStatus(key string, j *api.Job, stopped, ended bool) string {
	launches := j.IsPeriodic() || j.IsParameterized()
	switch {
	case now.over, ended, launches && stopped:
		return "dead"
	case launches:
		return "running"
	}
	status := "dead"
	if len(now.allocs[key]) == 0 {
		status = "pending"
	}
	wanted := map[string]bool{} // groups that have an allocation
	for _, a := range now.allocs[key] {
		if !tracker.Terminal(a.Status) {
			return "running"
		}
		if now.run.Tracker.Alloc(a.ID).Awaited {
			status = "pending"
		}
		wanted[a.Group] = wanted[a.Group] || a.Unwanted == "" || a.Final
	}
	for _, g := range j.TaskGroups {
		if status == "dead" && !stopped && *g.Count > 0 && !wanted[*g.Name] {
			return "running" // an update has stopped the allocations, and is about to place others
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
