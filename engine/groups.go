package engine

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// runGroups runs the allocations of every group, and takes the job from version
// to version. It returns when they have ended.
func (r *jobRun) runGroups() {
	defer r.lives.Wait()
	stopping, settled := r.stopping.Done(), r.settled.Done()
	for {
		again, over := r.turn()
		if over {
			return
		}
		var tick <-chan time.Time
		if !again.IsZero() {
			tick = time.After(time.Until(again))
		}
		select {
		case <-r.woken:
		case <-tick:
		case <-stopping:
			stopping = nil
		case <-settled:
			settled = nil
		}
	}
}

// turn does what is to be done now. It returns when to look again, zero for
// not by itself, and whether the job is over.
func (r *jobRun) turn() (again time.Time, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again = r.advance(&store.Change{})
	if r.living > 0 || r.isEmpty() {
		return again, false
	}
	r.ended = true
	return again, true
}

// isEmpty reports whether the job is a service that somebody has given a count
// of 0: it waits for another one.
func (r *jobRun) isEmpty() bool {
	job := r.newest.Load()
	if *job.Type != api.JobTypeService || *job.Version == 0 || r.isEnding() {
		return false
	}
	for _, g := range job.TaskGroups {
		if *g.Count > 0 {
			return false
		}
	}
	return true
}

// finish ends what the job itself does; its children may go on.
func (r *jobRun) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.stop() // there is nothing left to end
	r.forget()
}

// forget forgets the job when it was purged and has ended. The lock is held.
func (r *jobRun) forget() {
	if r.purged && r.ended {
		r.forgotten.Store(true)
		r.engine.allocs.forgetJob(*r.job.ID)
	}
}
