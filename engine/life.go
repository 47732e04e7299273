package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// A job of a resident engine has any number of lives: it is dead when everything
// of it has ended, and lives again when a slot begins or, for a job that launches
// others, with a new version. Each life has a goroutine, and a dead job has no
// open files.

// home returns the run that has the directory of the job: its own or its
// parent's.
func (r *jobRun) home() *jobRun {
	if r.above != nil {
		return r.above
	}
	return r
}

// enter starts a life of the job, with begin. It reports whether it could:
// nothing lives once the engine stops or leaves.
func (r *jobRun) enter(begin func()) bool {
	if err := r.recorder.Wake(); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
	if r.above != nil {
		r.above.children.live.Add(1)
	}
	entered := r.runs.enter(func() {
		begin()
		r.live()
		r.rest()
	})
	if !entered {
		r.recorder.Rest()
	}
	return entered
}

// revive begins another life of a dead job. The caller must hold the lock.
func (r *jobRun) revive() {
	if !r.ended || !r.host.cfg.Resident {
		return
	}
	r.ended = false
	if launches(r.job) {
		r.recorder.Commit(r.children.launched(time.Now()))
	}
	if r.ports.reserved && len(r.ports.static) == 0 {
		r.ports.reserved = r.ports.reserve(r.newest.Load()) == nil // otherwise each allocation claims its own
	}
	r.enter(func() {})
}

// wasStopped reports whether the job was stopped since a version. The caller must
// hold the lock.
func (r *jobRun) wasStopped(since uint64) bool {
	return slices.ContainsFunc(r.versions, func(job *api.Job) bool { return isStopped(job) && *job.Version > since })
}

// rest ends a life of the job.
func (r *jobRun) rest() {
	r.mu.Lock()
	leaving := r.host.leaving.Err() != nil
	if r.ended && !leaving {
		r.ports.releaseStatic(0)
		if r.above != nil && r.isOver() {
			r.eraseChild()
		}
	}
	r.mu.Unlock()
	if surplus := r.home().children.died(r); surplus != nil {
		surplus.collect(time.Now(), time.Now())
	}
	if r.above != nil {
		r.above.children.live.Add(-1)
	}
	home := r.home()
	if !home.recorder.Rest() || leaving {
		return
	}
	home.mu.Lock()
	defer home.mu.Unlock()
	if home.purged.Load() {
		home.erase()
	}
}

// purge marks the job as one to forget. The caller must hold the lock.
func (r *jobRun) purge(c *store.Change) {
	r.purged.Store(true)
	c.ForgetJob(r.key)
	c.Put(store.KeyOf(purgedKey, r.key), true)
}

// vanish takes a purged job out of all lists. It is erased once it has ended, and
// the jobs that it has launched. The caller must hold the lock.
func (r *jobRun) vanish() {
	var gone []uint64
	for _, job := range r.versions {
		gone = append(gone, *job.Version)
	}
	r.host.bus.Publish(nil, "", event.Forgotten{Job: r.key, Versions: gone, Gone: true})
	if r.above != nil {
		r.runs.hide(r)
		if r.ended {
			r.eraseChild()
		}
		return
	}
	r.runs.purge(r)
	for _, child := range r.children.all() {
		child.mu.Lock()
		if child.ended {
			child.eraseChild()
		}
		child.mu.Unlock()
	}
	if r.recorder.Resting() {
		r.erase()
	}
}

// erase forgets a purged job that has ended, with its directory. The caller must
// hold the lock.
func (r *jobRun) erase() {
	if r.forgotten.Swap(true) {
		return
	}
	r.stop() // releases the contexts
	r.runs.erase(r)
	if _, err := r.runs.find(r.key); err != nil {
		r.host.state.Look(func(run *fold.Run) { run.Specify(r.key, nil) })
	}
	r.forgetAllocs(&store.Change{}) // the records go with the directory
	if err := r.remove(); err != nil {
		r.host.notice("cannot remove what is left of job %q, which was purged: %v", *r.job.ID, err)
	}
}

// eraseChild forgets a job that another one has launched, and that has ended. The
// caller must hold the lock.
func (r *jobRun) eraseChild() {
	if r.forgotten.Swap(true) {
		return
	}
	r.stop() // releases the contexts
	r.runs.hide(r)
	r.above.children.forget(r)
	var c store.Change
	r.forgetAllocs(&c)
	for _, kind := range []string{jobKey, versionKey, submissionKey, announcedKey, slotKey, deploymentKey, scalingKey, stoppedKey, purgedKey} {
		c.DropAll(store.KeyOf(kind, r.key))
	}
	c.ForgetJob(r.key)
	r.recorder.Commit(c)
}

// died notes the death of a child, and returns another dead one if there are too
// many of them.
func (c *children) died(r *jobRun) (surplus *jobRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == c.parent {
		return nil
	}
	if c.dead = append(c.dead, r); len(c.dead) > keptChildren {
		surplus, c.dead = c.dead[0], c.dead[1:]
	}
	return surplus
}

func (c *children) forget(r *jobRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[r.key] == r {
		delete(c.known, r.key)
	}
	c.dead = slices.DeleteFunc(c.dead, func(other *jobRun) bool { return other == r })
}

// forgetAllocs forgets all allocations of the job, removes their directories and
// adds the deletion of their records to a change. The caller must hold the lock.
func (r *jobRun) forgetAllocs(c *store.Change) {
	for _, s := range r.slots {
		for _, p := range s.Placed {
			if a := r.host.allocs.find(p.ID); a != nil {
				r.destroy(a, c)
			}
		}
	}
}

// pause makes a later engine place all allocations again that run now.
func (r *jobRun) pause() {
	for _, child := range r.children.all() {
		child.pause()
	}
	r.lock()
	defer r.mu.Unlock()
	var c store.Change
	for _, s := range r.slots {
		if s.present != nil && s.last().Unwanted == "" {
			s.last().Again = true
			c.Put(s.record(), s.slotRecord)
		}
	}
	r.recorder.Commit(c)
}

// remove removes the run with its directory.
func (r *jobRun) remove() error {
	if r.recorder.Halted() {
		return nil
	}
	return errors.Join(r.recorder.Close(), r.ports.memory.Close(), r.dir.Remove())
}

// leave closes what all runs of a resident engine have open, for a later engine.
func (l *jobRuns) leave() {
	l.mu.Lock()
	runs := append(l.list, l.purged...)
	l.mu.Unlock()
	for _, r := range runs {
		if r.host.cfg.Resident {
			r.leave()
		}
	}
}
