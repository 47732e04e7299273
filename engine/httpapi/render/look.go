// Package render describes the state of an engine in the form of Nomad's API.
package render

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
)

// Snapshot is the state of the jobs of an engine at one moment.
type Snapshot struct {
	Jobs []*api.Job // copies with their state, sorted by key

	run      *Run
	over     bool
	byKey    map[string]*api.Job
	allocs   map[string][]engine.Alloc // by the key of the job
	children map[string][]*api.Job     // by the key of the parent
}

// Look returns a snapshot of all jobs. Of child jobs, it includes those with
// allocations.
func (run *Run) Look() *Snapshot { return run.snapshot(run.Engine.Jobs(), run.Engine.Allocs()) }

// LookAt returns a snapshot of one job and, if it launches others, of all.
func (run *Run) LookAt(key string) *Snapshot {
	j, ok := run.Engine.Job(key)
	switch {
	case !ok:
		return run.snapshot(nil, nil)
	case j.IsPeriodic() || j.IsParameterized():
		return run.Look()
	}
	return run.snapshot([]*api.Job{j}, run.Engine.AllocsOf(key))
}

func (run *Run) snapshot(jobs []*api.Job, allocs []engine.Alloc) *Snapshot {
	now := &Snapshot{
		run: run, byKey: make(map[string]*api.Job, len(jobs)),
		allocs: make(map[string][]engine.Alloc, len(jobs)), children: map[string][]*api.Job{},
	}
	select {
	case <-run.Engine.Done():
		now.over = true
	default:
	}
	known := make(map[string]*api.Job, len(jobs))
	for _, j := range jobs {
		known[run.KeyOf(j)] = j
	}
	for _, a := range allocs {
		if known[a.Alloc.Job] == nil && a.Parent != "" {
			known[a.Alloc.Job] = a.Job
		}
		now.allocs[a.Alloc.Job] = append(now.allocs[a.Alloc.Job], a)
	}
	for key, j := range known {
		j = now.withState(key, j)
		now.byKey[key] = j
		now.Jobs = append(now.Jobs, j)
		if *j.ParentID != "" {
			parent := run.KeyIn(*j.Namespace, *j.ParentID)
			now.children[parent] = append(now.children[parent], j)
		}
	}
	slices.SortFunc(now.Jobs, func(a, b *api.Job) int { return strings.Compare(run.KeyOf(a), run.KeyOf(b)) })
	return now
}

// Job returns the job with a key, or nil.
func (now *Snapshot) Job(key string) *api.Job { return now.byKey[key] }

// Allocs returns the allocations of a job, sorted by name and then by age.
func (now *Snapshot) Allocs(j *api.Job) []engine.Alloc { return now.allocs[now.run.KeyOf(j)] }

// FindJob returns the job that a request names.
func (run *Run) FindJob(r *rest.Request) (*Snapshot, *api.Job, error) {
	key := run.Key(r)
	now := run.LookAt(key)
	if j := now.Job(key); j != nil && r.InNamespace(*j.Namespace) {
		return now, j, nil
	}
	return nil, nil, rest.Fail(http.StatusNotFound, "job not found")
}

// Job returns the job with a key, or nil.
func (run *Run) Job(key string) *api.Job { return run.LookAt(key).Job(key) }

// withState returns a copy of a job with the fields that Nomad's server adds.
func (now *Snapshot) withState(key string, j *api.Job) *api.Job {
	job := *j
	modified := now.run.Engine.State().Index(fold.Topic{Table: fold.Jobs, Key: key})
	registered, _ := now.run.Tracker.Version(key, *j.Version)
	created := now.run.created(key, j)
	job.CreateIndex, job.ModifyIndex, job.JobModifyIndex = &created, &modified, &registered
	stopped, ended := now.run.Engine.Handle(key).Ending()
	job.Stop, job.Status = &stopped, new(now.jobStatus(key, j, stopped, ended))
	now.run.AddPolicies(&job)
	return &job
}

// jobStatus returns the status of a job by the rules of Nomad's server. A job
// is running until its deployment has ended. It is pending while nothing of it was
// placed, or one of its allocations is about to be replaced. One that was stopped is
// dead as soon as nothing of it runs, whether or not the engine has noticed: no event
// tells of that.
func (now *Snapshot) jobStatus(key string, j *api.Job, stopped, ended bool) string {
	launches, allocs := j.IsPeriodic() || j.IsParameterized(), now.allocs[key]
	runs := func(a engine.Alloc) bool { return !tracker.Terminal(a.Status) }
	awaited := func(a engine.Alloc) bool {
		return now.run.Tracker.Alloc(a.ID).Awaited && now.run.Engine.Handle(key).Replaces(a.ID)
	}
	switch {
	case now.over, ended, launches && stopped:
		return "dead"
	case launches, slices.ContainsFunc(allocs, runs):
		return "running"
	case stopped:
		return "dead"
	case now.run.Engine.Handle(key).Deploying():
		return "running"
	case slices.ContainsFunc(allocs, awaited):
		return "pending"
	}
	placed := map[string]bool{} // groups with an allocation that no update has stopped
	for _, a := range allocs {
		placed[a.Group] = placed[a.Group] || a.Unwanted == "" || a.Final
	}
	for _, g := range j.TaskGroups {
		switch {
		case *g.Count == 0 || placed[*g.Name]:
		case len(allocs) == 0:
			return "pending"
		default:
			return "running" // an update has stopped the allocations, and is about to place others
		}
	}
	known := make(map[string]bool, len(allocs))
	for _, a := range allocs {
		known[a.ID] = true
	}
	if now.run.Engine.Handle(key).HasMore(known) {
		return "running"
	}
	return "dead"
}
