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

// Look returns a snapshot of the engine. Of child jobs, it includes those with
// allocations.
func (run *Run) Look() *Snapshot {
	now := &Snapshot{run: run, Allocs: map[string][]engine.Alloc{}}
	select {
	case <-run.Engine.Done():
		now.Over = true
	default:
	}
	jobs, seen := run.Engine.Jobs(), map[string]bool{}
	for _, j := range jobs {
		seen[*j.ID] = true
	}
	for _, a := range run.Engine.Allocs() {
		if !seen[a.Alloc.Job] {
			seen[a.Alloc.Job] = true
			jobs = append(jobs, a.Job)
		}
		now.Allocs[a.Alloc.Job] = append(now.Allocs[a.Alloc.Job], a)
	}
	slices.SortFunc(jobs, func(a, b *api.Job) int { return strings.Compare(*a.ID, *b.ID) })
	for _, j := range jobs {
		now.Jobs = append(now.Jobs, now.withState(j))
	}
	return now
}

// Job returns the job with an ID, or nil.
func (now *Snapshot) Job(id string) *api.Job {
	i, ok := slices.BinarySearchFunc(now.Jobs, id, func(j *api.Job, id string) int { return strings.Compare(*j.ID, id) })
	if !ok {
		return nil
	}
	return now.Jobs[i]
}

// FindJob returns the job that a request names.
func (run *Run) FindJob(r *rest.Request) (*Snapshot, *api.Job, error) {
	now := run.Look()
	if j := now.Job(r.ID); j != nil && r.InNamespace(*j.Namespace) {
		return now, j, nil
	}
	return nil, nil, rest.Fail(http.StatusNotFound, "job not found")
}

// Job returns the job with an ID, or nil.
func (run *Run) Job(id string) *api.Job { return run.Look().Job(id) }
