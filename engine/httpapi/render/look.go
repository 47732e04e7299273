// Package render describes the state of an engine in the form of Nomad's API.
package render

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/rest"
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
