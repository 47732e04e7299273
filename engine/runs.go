package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"
)

func (l *jobRuns) set(list []*jobRun) {
	l.finding.Add(len(list))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = list
}

func (l *jobRuns) all() []*jobRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// find returns a job by ID: a submitted one or a child.
func (l *jobRuns) find(id string) (*jobRun, error) {
	for _, r := range l.all() {
		if *r.job.ID == id {
			return r, nil
		}
		if child := r.children.find(id); child != nil {
			return child, nil
		}
	}
	return nil, fmt.Errorf("job not found: %q", id)
}

// withJob returns the result of f for a job. It waits until the state left by
// an earlier engine is known, and calls f with the job's lock held.
func withJob[T any](e *Engine, id string, f func(*jobRun) (T, error)) (answer T, err error) {
	r, err := e.runs.find(id)
	if err != nil {
		return answer, err
	}
	r.lock()
	defer r.mu.Unlock()
	return f(r)
}

// find returns the child with an ID, or nil.
func (c *children) find(id string) *jobRun {
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	return c.known[id]
}

// Placed waits until the first allocations of every submitted or recovered job
// are placed: earlier, Allocs lacks some of them. Call it after Submit or
// Recover.
func (e *Engine) Placed() {
	for _, r := range e.runs.all() {
		r.placing.Wait()
		for _, child := range r.children.all() {
			child.placing.Wait()
		}
	}
}

func (c *children) all() []*jobRun {
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	return slices.Collect(maps.Values(c.known))
}

// Job returns the newest version of a job, which is read only. There is none of
// a purged job.
func (e *Engine) Job(id string) (*api.Job, bool) {
	r, err := e.runs.find(id)
	if err != nil || r.forgotten.Load() {
		return nil, false
	}
	return r.newest.Load(), true
}

// Jobs returns the newest versions of the submitted jobs, except purged ones.
// They are read only.
func (e *Engine) Jobs() []*api.Job {
	jobs := []*api.Job{}
	for _, r := range e.runs.all() {
		if !r.forgotten.Load() {
			jobs = append(jobs, r.newest.Load())
		}
	}
	return jobs
}
