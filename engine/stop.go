package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// StopJob stops a job like `nomad job stop`: kill signals, grace periods,
// poststop tasks. A periodic or parameterized job launches nothing more; the
// jobs that it has launched go on. With purge, the job is forgotten once it has
// ended. StopJob does not wait, and reports whether there was anything to stop.
func (e *Engine) StopJob(id string, purge bool) (bool, error) {
	r, err := e.runs.find(id)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if purge {
		r.purged.Store(true)
	}
	r.forget()
	if r.stopped || r.ended || r.stopping.Err() != nil {
		return false, nil
	}
	r.stopped = true
	var c store.Change
	c.Put(store.KeyOf(stoppedKey, r.key), true)
	r.evaluate(event.JobDeregister, "", &c)
	r.recorder.Commit(c)
	r.stop()
	return true, nil
}

// Ending reports whether a job was stopped, and whether it has ended. A job
// that has ended starts nothing more, but its children may still run.
func (e *Engine) Ending(id string) (stopped, ended bool) {
	r, err := e.runs.find(id)
	if err != nil {
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped || isStopped(r.newest.Load()) || r.stopping.Err() != nil && !r.ended, r.ended
}

// StopAlloc stops an allocation like `nomad alloc stop`: another one replaces
// it. With reschedule, an allocation of a batch job is replaced as if it had
// failed when it last changed. StopAlloc does not wait.
func (e *Engine) StopAlloc(id string, reschedule bool) error {
	a := e.allocs.find(id)
	if a == nil {
		return fmt.Errorf("Unknown allocation %q", id) //nolint:staticcheck // Nomad's words
	}
	cfg := a.Config()
	r, err := e.runs.find(cfg.Alloc.Job)
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
