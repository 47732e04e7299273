package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// The intended states of allocations that are not to run on, in Nomad's words.
const (
	notNeeded = "alloc not needed due to job update"
	migrated  = "alloc is being migrated"
	updated   = "alloc is being updated due to job update"
)

// find returns a job of this engine, which may run in the name of another.
func (e *Engine) find(id string) (*jobRun, error) {
	e.mu.Lock()
	runs := e.runs
	e.mu.Unlock()
	for _, r := range runs {
		if *r.job.ID == id {
			return r, nil
		}
		if child := r.child(id); child != nil {
			return child, nil
		}
	}
	return nil, fmt.Errorf("job not found: %q", id)
}

func (r *jobRun) child(id string) *jobRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id]
}

// StopJob stops a job as `nomad job stop` would: kill signals, grace periods,
// poststop tasks. A periodic or parameterized one is launched no more; what it
// has launched goes on. With purge the job is forgotten when it has ended. It
// returns at once, and reports whether there was anything to stop.
func (e *Engine) StopJob(id string, purge bool) (bool, error) {
	r, err := e.find(id)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.purged = r.purged || purge
	if r.purged && r.ended {
		e.forgetJob(id)
	}
	if r.stopped || r.ended || r.stopping.Err() != nil {
		return false, nil
	}
	r.stopped = true
	var c store.Change
	c.Put(r.stoppedKey(), true)
	r.evaluate(event.JobDeregister, "", &c)
	r.recorder.Commit(c)
	r.stop()
	return true, nil
}

// forgetJob forgets a job that has ended, and its allocations.
func (e *Engine) forgetJob(id string) {
	e.mu.Lock()
	var gone []*runner.Alloc
	for _, a := range e.allocs {
		if *a.Config().Job.ID == id {
			gone = append(gone, a)
		}
	}
	e.purged[id] = true
	e.mu.Unlock()
	for _, a := range gone {
		e.forget(a)
	}
}

// Stopped reports whether a job was ordered to stop.
func (e *Engine) Stopped(id string) bool {
	r, err := e.find(id)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped || r.stopping.Err() != nil && !r.ended
}

// Ended reports whether nothing of a job can begin any more: it has run to its
// end, or was stopped. What it has launched may go on.
func (e *Engine) Ended(id string) bool {
	r, err := e.find(id)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

func (r *jobRun) stoppedKey() store.Key { return store.KeyOf(stoppedKey, *r.job.ID) }

// restoreStop stops a job that was ordered to stop when an earlier engine ran
// it.
func (r *jobRun) restoreStop() {
	if !r.recorder.Durable() {
		return
	}
	if _, err := r.recorder.Get(r.stoppedKey(), &r.stopped); err != nil {
		r.notice("job %q: %v", *r.job.ID, err)
	}
	if r.stopped {
		r.stop()
	}
}

// StopAlloc stops an allocation as `nomad alloc stop` would: another one runs
// in its place. With reschedule one of a batch job is replaced as if it had
// failed when it changed last. It returns at once.
func (e *Engine) StopAlloc(id string, reschedule bool) error {
	a, err := e.alloc(id)
	if err != nil {
		return err
	}
	cfg := a.Config()
	r, err := e.find(*cfg.Job.ID)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var c store.Change
	evaluation := r.evaluateStop(cfg.Alloc, &c)
	for _, s := range r.slots {
		if s.present != a {
			continue
		}
		s.last().Stopped = evaluation
		switch {
		case *cfg.Job.Type == api.JobTypeSysbatch:
			s.again = reschedule
		case *cfg.Job.Type == api.JobTypeBatch && reschedule:
			s.rescheduleStopped(a.State().LastEvent(), time.Now())
		default:
			s.again = true
		}
		s.stopAlloc(&c)
	}
	r.recorder.Commit(c)
	return nil
}

// evaluateStop returns the ID of the evaluation with which an allocation is
// stopped. The lock is held.
func (r *jobRun) evaluateStop(a *event.Alloc, c *store.Change) (id string) {
	r.engine.Look(func(run *fold.Run) {
		if known := run.Evaluated(a.Job, a.ID, event.AllocStop); known != nil {
			id = known.ID
		}
	})
	if id == "" {
		id = r.evaluate(event.AllocStop, a.ID, c)
	}
	return id
}

// atOnce is how soon an allocation that is to be replaced is replaced at once.
const atOnce = time.Second

// rescheduleStopped decides when the present allocation, which is stopped and
// has changed last at a time, is replaced. The job's lock is held.
func (s *slot) rescheduleStopped(changed, now time.Time) {
	delay, ok := s.policy().Next(changed, s.Earlier)
	switch at := changed.Add(delay); {
	case !ok:
	case at.Sub(now) <= atOnce:
		s.again = true
		s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: now, Delay: delay})
	default:
		s.last().ReplaceAt = at
	}
}

// stopAlloc stops the present allocation, and stores that together with c. The
// job's lock is held.
func (s *slot) stopAlloc(c *store.Change) {
	s.last().Unwanted, s.last().Again = migrated, s.again
	c.Put(s.key(), s.slotRecord)
	s.recorder.Commit(*c)
	*c = store.Change{}
	s.engine.desire(s.present, migrated)
	s.present.Stop()
}
