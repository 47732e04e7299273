package render

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Allocation is an allocation with fields that Nomad's client lacks.
type Allocation struct {
	*api.Allocation
	TaskStates      map[string]*TaskState
	SharedResources *api.Resources
	SigningKeyID    string // for its workload identities
}

// Allocation describes an allocation in the form of Nomad's API, without its
// job. The first call may create the signing key, which takes long.
func (run *Run) Allocation(a engine.Alloc) *Allocation {
	alloc := run.Bare(a)
	shared := &api.Resources{
		CPU: new(0), Cores: new(0), MemoryMB: new(0), MemoryMaxMB: new(0), IOPS: new(0),
		DiskMB: alloc.Resources.DiskMB, Networks: alloc.Resources.Networks,
	}
	return &Allocation{alloc, taskStates(a.Tasks), shared, run.Keys.ID()}
}

// JobOf returns the job of an allocation as Nomad's scheduler kept it when it made
// the allocation: in that version, not stopped, and not running yet.
func (run *Run) JobOf(a engine.Alloc) *api.Job {
	job := *a.Job
	created := run.created(a.Alloc.Job, a.Job)
	registered, _ := run.Tracker.Version(a.Alloc.Job, *job.Version)
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = &created, &registered, &registered
	job.Stop, job.Status = new(false), new("pending")
	run.AddPolicies(&job)
	return &job
}

// Bare describes an allocation without the fields that Nomad's client lacks, and
// without its job.
func (run *Run) Bare(a engine.Alloc) *api.Allocation {
	known := run.Tracker.Alloc(a.ID)
	_, job := event.SplitJobKey(a.Alloc.Job)
	group := a.Job.LookupTaskGroup(a.Group)
	alloc := &api.Allocation{
		ID: a.ID, Name: a.Name, Namespace: *a.Job.Namespace, NodeID: run.Machine.ID, NodeName: run.Machine.Name,
		JobID: job, TaskGroup: a.Group, Metrics: &api.AllocationMetric{NodesEvaluated: 1},
		DesiredStatus: api.AllocDesiredStatusRun, ClientStatus: a.Status, ClientDescription: a.Description,
		TaskStates: a.Tasks, PreviousAllocation: a.Replaces, NextAllocation: known.Next, EvalID: known.Evaluation,
		CreateIndex: known.Created, ModifyIndex: known.Modified, AllocModifyIndex: known.Created,
		CreateTime: a.Created.UnixNano(), ModifyTime: a.Modified.UnixNano(),
		NetworkStatus: &api.AllocNetworkStatus{}, DesiredTransition: a.Transition,
	}
	if a.Modified.IsZero() {
		alloc.ModifyTime = alloc.CreateTime
	}
	if why := run.unwanted(a, known.Next); why != "" {
		alloc.DesiredStatus, alloc.DesiredDescription = api.AllocDesiredStatusStop, why
	}
	alloc.DeploymentID = a.Deployment
	if a.Deployment != "" && (a.Healthy != nil || a.Canary) {
		alloc.DeploymentStatus = &api.AllocDeploymentStatus{
			Healthy: a.Healthy, Canary: a.Canary, Timestamp: a.Modified, ModifyIndex: known.Modified,
		}
	}
	alloc.RescheduleTracker = run.rescheduled(a)
	addResources(alloc, group, a)
	return alloc
}

// unwanted explains, in Nomad's words, why an allocation should stop, or should not
// run again, or returns "". Next is the ID of the one that took its place after a
// failure, if any.
func (run *Run) unwanted(a engine.Alloc, next string) string {
	if a.Unwanted != "" || next == "" || *a.Job.Type == api.JobTypeSystem {
		return a.Unwanted
	}
	if replacement, ok := run.Engine.Alloc(next); ok && !replacement.Reschedules(a.ID) && *replacement.Job.Version != *a.Job.Version {
		return "alloc is being updated due to job update"
	}
	return "alloc was rescheduled because it failed"
}

// rescheduled returns the replacements of failed allocations that led to an
// allocation, or nil if there are none.
func (run *Run) rescheduled(a engine.Alloc) *api.RescheduleTracker {
	if len(a.Replacements) == 0 {
		return nil
	}
	tracker := &api.RescheduleTracker{LastReschedule: "ok"}
	for _, r := range a.Replacements {
		tracker.Events = append(tracker.Events, &api.RescheduleEvent{
			RescheduleTime: r.Time.UnixNano(), PrevAllocID: r.Alloc, PrevNodeID: run.Machine.ID,
		})
	}
	return tracker
}
