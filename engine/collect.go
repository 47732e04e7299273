package engine

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// How old something must be before a resident engine forgets it, and how often it
// looks, as in Nomad: job_gc_threshold, eval_gc_threshold and job_gc_interval.
const (
	jobAge       = 4 * time.Hour
	allocAge     = time.Hour
	collectEvery = 5 * time.Minute
)

// keptChildren is how many dead jobs are kept that the same job has launched,
// regardless of their age.
const keptChildren = 1000

// Collect forgets, like `nomad system gc`, jobs that are dead for good,
// allocations that have ended and were replaced, and evaluations without
// allocations. It also removes their files. A resident engine does that by itself
// with what is old.
func (e *Engine) Collect() {
	done := make(chan struct{})
	if e.runs.enter(func() { e.collect(time.Now(), time.Now()); close(done) }) {
		<-done
	}
}

// collectOld calls collect from time to time.
func (e *Engine) collectOld() {
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.collect(time.Now().Add(-jobAge), time.Now().Add(-allocAge))
		case <-e.settled.Done():
			return
		}
	}
}

// collect forgets jobs that have not changed since a time, and allocations and
// evaluations that have not changed since another one.
func (e *Engine) collect(jobs, allocs time.Time) {
	for _, r := range e.runs.all() {
		for _, child := range r.children.all() {
			child.collect(jobs, allocs)
		}
		r.collect(jobs, allocs)
	}
	e.collectEvaluations(allocs)
}

// collect forgets the job or what it does not need any more.
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

// collectEvaluations forgets the evaluations without allocations that are older
// than a time, and those of jobs that are not known any more.
func (e *Engine) collectEvaluations(before time.Time) {
	known := map[string]bool{}
	for _, job := range e.Jobs() {
		known[e.keyOf(job)] = true
	}
	var unowned []*fold.Evaluation
	e.ForgetEvaluations(func(run *fold.Run) (gone []*fold.Evaluation) {
		used := map[string]bool{}
		for _, a := range run.Allocs {
			used[a.Evaluation] = true
		}
		for _, v := range run.Evaluations {
			switch {
			case used[v.ID] || v.Time.After(before):
			case known[v.Job]:
				gone = append(gone, v)
			default:
				unowned = append(unowned, v)
			}
		}
		return gone
	})
	publishForgotten(&e.bus, unowned)
}
