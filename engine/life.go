package engine

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// A job of a resident engine has any number of lives: it is dead when everything
// of it has ended, and lives again when a slot begins or, for a job that launches
// others, with a new version. Each life has a goroutine, and a dead job has no
// open files.

// enter starts a life of the job, which is over when live returns. It reports
// whether it could: nothing lives once the engine stops or leaves.
func (r *jobRun) enter(live func()) bool {
	if err := r.recorder.Wake(); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
	if r.home != r {
		r.home.children.live.Add(1)
	}
	entered := r.runs.enter(func() {
		live()
		r.rest()
	})
	if !entered {
		r.recorder.Rest()
	}
	return entered
}

// rest ends a life of the job.
func (r *jobRun) rest() {
	r.mu.Lock()
	leaving := r.host.leaving.Err() != nil
	if r.ended && !leaving {
		r.ports.ReleaseStatic(0)
		if r.home != r && r.isOver() {
			r.eraseChild()
		}
	}
	r.mu.Unlock()
	if surplus := r.home.children.died(r); surplus != nil {
		surplus.collect(time.Now(), time.Now())
	}
	if r.home != r {
		r.home.children.live.Add(-1)
	}
	home := r.home
	if !home.recorder.Rest() || leaving {
		return
	}
	home.mu.Lock()
	defer home.mu.Unlock()
	if home.purged.Load() {
		home.erase()
	}
}

// runGroups runs the allocations of all groups, and moves the job from version
// to version. It returns when they have ended.
func (r *jobRun) runGroups() {
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

// turn does the work that is due. It returns the time of the next turn, zero if
// it takes an event, and whether the job is over.
func (r *jobRun) turn() (again time.Time, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again = r.advance(&store.Change{})
	if !r.turned {
		r.turned = true
		r.placing.Done()
	}
	if r.living > 0 {
		r.idle = false
	}
	if r.living > 0 || r.mayGrow() || r.isPatient() {
		return again, false
	}
	r.ended = true
	return again, true
}

// mayGrow reports whether the job, of which nothing runs, waits: one that was
// scaled to 0 to be scaled up, and the job of a resident engine for the end of its
// deployment. The caller must hold the lock.
func (r *jobRun) mayGrow() bool {
	if r.isEnding() {
		return false
	}
	d := r.deployment()
	return isEmpty(r.newest.Load()) || r.host.cfg.Resident && d != nil && d.Active()
}

// isEmpty reports whether a job that runs until it is stopped was scaled to 0.
func isEmpty(job *api.Job) bool {
	return (*job.Type == api.JobTypeService || *job.Type == api.JobTypeSystem) && *job.Version > 0 && !isStopped(job) &&
		!slices.ContainsFunc(job.TaskGroups, func(g *api.TaskGroup) bool { return *g.Count > 0 })
}

// isPatient reports whether the job, of which nothing runs, waits for another
// version. The caller must hold the lock.
func (r *jobRun) isPatient() bool {
	waits := r.host.cfg.Patient && !r.isEnding() && r.parent == "" && !isStopped(r.newest.Load())
	if waits && !r.idle {
		r.host.notice("job %q has ended; it runs again when it changes", *r.job.ID)
	}
	r.idle = waits
	return waits
}

// finish ends the job itself. Its children may continue.
func (r *jobRun) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.stop() // releases the contexts; nothing is left to stop
	r.forget()
}

// forget forgets the job if it was purged and has ended. The caller must hold
// the lock.
func (r *jobRun) forget() {
	if r.purged.Load() && r.ended {
		r.forgotten.Store(true)
		r.host.allocs.forgetJob(*r.job.ID)
	}
}
