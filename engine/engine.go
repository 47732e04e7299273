// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and publishes events. It owns everything that lives during
// a run; callers send it jobs and orders, and follow the events.
package engine

import (
	"context"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// Engine runs jobs. Its methods are safe for concurrent use.
type Engine struct {
	*host
	runs jobRuns

	// They end the contexts of the host.
	stop, kill, leave, settle context.CancelFunc

	onRecorder func(*store.Recorder) // for tests that interrupt the recorder
	unread     error                 // why the registry cannot be read

	mu        sync.Mutex
	submitted bool
	closed    bool
}

// JobHandle asks about a job, and gives it orders. If there is no such job, they
// return an error or nothing.
type JobHandle struct {
	engine *Engine
	key    string
}

// Handle returns a handle on the job with a key.
func (e *Engine) Handle(key string) JobHandle { return JobHandle{e, key} }

// order calls f with the job's lock held, once the state left by an earlier engine is
// known.
func (j JobHandle) order(f func(*jobRun) error) error {
	_, err := withJob(j.engine, j.key, func(r *jobRun) (struct{}, error) { return struct{}{}, f(r) })
	return err
}

// withJob returns the result of f for a job. It waits until the state left by
// an earlier engine is known, and calls f with the job's lock held.
func withJob[T any](e *Engine, key string, f func(*jobRun) (T, error)) (answer T, err error) {
	r, err := e.runs.find(key)
	if err != nil {
		return answer, err
	}
	r.lock()
	defer r.mu.Unlock()
	return f(r)
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
// For a resident engine, it includes the jobs that these have launched. They are
// read only.
func (e *Engine) Jobs() []*api.Job {
	jobs := []*api.Job{}
	add := func(r *jobRun) {
		if !r.forgotten.Load() {
			jobs = append(jobs, r.newest.Load())
		}
	}
	for _, r := range e.runs.all() {
		add(r)
		if e.cfg.Resident {
			for _, child := range r.children.all() {
				add(child)
			}
		}
	}
	return jobs
}

// Allocs returns the allocations of this run, running and ended, sorted by name
// and then by age. It lacks those that no event has announced yet.
func (e *Engine) Allocs() []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.known, e.state.announced)
}

// AllocsOf returns the allocations of one job, in the same order.
func (e *Engine) AllocsOf(job string) []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.ofJob[job], e.state.announced)
}

// Alloc returns the allocation of this run with an ID.
func (e *Engine) Alloc(id string) (Alloc, bool) {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	a, ok := e.allocs.known[id]
	if !ok || !e.state.announced(id) {
		return Alloc{}, false
	}
	return a.snapshot(), true
}
