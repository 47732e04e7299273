package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// collect forgets the job, or what it no longer needs.
func (r *jobRun) collect(job, allocs time.Time) {
	r.lock()
	defer r.mu.Unlock()
	var c store.Change
	if r.isForgettable(job) {
		r.purge(&c)
		r.recorder.Commit(c)
		r.vanish()
		return
	}
	for _, s := range r.slots {
		s.collect(allocs, &c)
	}
	r.slots = slices.DeleteFunc(r.slots, func(s *slot) bool { return len(s.Placed) == 0 && s.Gone && !s.living })
	r.forgetVersions(r.slots.versions(), &c)
	r.recorder.Commit(c)
}

// isForgettable reports whether the job is dead for good, and nothing of it has
// changed since a time. As in Nomad, a job with a tagged version is kept. The
// caller must hold the lock.
func (r *jobRun) isForgettable(since time.Time) bool {
	job := r.newest.Load()
	batch := *job.Type == api.JobTypeBatch || *job.Type == api.JobTypeSysbatch
	if !r.ended || r.purged.Load() || r.children.running() || !isStopped(job) && (!batch || launches(job)) ||
		time.Unix(0, *job.SubmitTime).After(since) ||
		slices.ContainsFunc(r.versions, func(job *api.Job) bool { return job.VersionTag != nil }) {
		return false
	}
	for _, s := range r.slots {
		for _, p := range s.Placed {
			if a := r.host.allocs.find(p.ID); a != nil && a.State().Modified.After(since) {
				return false
			}
		}
	}
	return true
}

// collect forgets the allocations of the slot that have ended and have not changed
// since a time, if others have replaced them or the slot was given up. The latest
// ones of a batch job tell that its work is done. The caller must hold the lock.
func (s *slot) collect(since time.Time, c *store.Change) {
	var gone []*runner.Alloc
	switch {
	case s.living || !s.Gone:
		for _, a := range s.kept {
			if a.State().Modified.After(since) || *s.job.Type == api.JobTypeBatch && s.Placed[len(gone)].Version == s.last().Version {
				break
			}
			gone = append(gone, a)
		}
		s.kept = s.kept[len(gone):]
	default:
		for _, p := range s.Placed {
			a := s.host.allocs.find(p.ID)
			if a == nil || a.State().Modified.After(since) {
				return
			}
			gone = append(gone, a)
		}
		s.kept, s.ended = nil, nil
	}
	if len(gone) == 0 {
		return
	}
	for _, a := range gone {
		s.destroy(a, c)
	}
	if s.Placed = s.Placed[len(gone):]; len(s.Placed) == 0 {
		c.Drop(s.record())
	} else {
		c.Put(s.record(), s.slotRecord)
	}
}

// destroy forgets an allocation that has ended, and removes its files.
func (r *jobRun) destroy(a *runner.Alloc, c *store.Change) {
	id := a.Config().Alloc
	if r.recorder.Halted() {
		return
	}
	if err := a.Destroy(r.host.hard); err != nil {
		r.host.notice("cannot remove allocation %s: %v", id.ID, err)
	}
	runner.Forget(c, id.ID)
	r.host.allocs.forget(id)
}

// vanish takes a purged job out of all lists. It is erased once it has ended, and
// the jobs that it has launched. The caller must hold the lock.
func (r *jobRun) vanish() {
	if r.home != r {
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
	r.slots.forgetAllocs(&store.Change{}) // the records go with the directory
	if err := r.remove(); err != nil {
		r.host.notice("cannot remove leftovers of purged job %q: %v", *r.job.ID, err)
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
	r.home.children.forget(r)
	var c store.Change
	r.slots.forgetAllocs(&c)
	for _, kind := range []string{jobKey, versionKey, submissionKey, announcedKey, slotKey, deploymentKey, scalingKey, stoppedKey, purgedKey} {
		c.DropAll(store.KeyOf(kind, r.key))
	}
	c.ForgetJob(r.key)
	r.recorder.Commit(c)
}

// remove removes the run with its directory.
func (r *jobRun) remove() error {
	if r.recorder.Halted() {
		return nil
	}
	return errors.Join(r.recorder.Close(), r.ports.Memory.Close(), r.dir.Remove())
}

// forgetAllocs forgets all allocations of a job, removes their directories and
// adds the deletion of their records to a change. The caller must hold the lock.
func (l slots) forgetAllocs(c *store.Change) {
	for _, s := range l {
		for _, p := range s.Placed {
			if a := s.host.allocs.find(p.ID); a != nil {
				s.destroy(a, c)
			}
		}
	}
}
