package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// Deregistration is how to stop a job.
type Deregistration struct {
	Purge           bool // forget the job at once, and its allocations once they have ended
	NoShutdownDelay bool // wait for no shutdown_delay
	EvalPriority    int  // of the evaluation; 0 means that of the job
}

// Stop stops the job like `nomad job stop`: kill signals, grace periods, poststop
// tasks. A periodic or parameterized job launches nothing more; the jobs that it
// has launched continue. A purged job is forgotten once it has ended. Stop does not
// wait, and reports whether there was anything to stop. A resident engine has
// Deregister instead.
func (j JobHandle) Stop(order Deregistration) (bool, error) {
	r, err := j.engine.runs.find(j.key)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if order.Purge {
		r.purged.Store(true)
	}
	r.forget()
	if r.stopped || r.ended || r.stopping.Err() != nil {
		return false, nil
	}
	r.stopped = true
	var c store.Change
	c.Put(store.KeyOf(stoppedKey, r.key), true)
	if order.NoShutdownDelay {
		r.slots.skipShutdownDelays(&c)
	}
	r.evaluateWith(event.Evaluation{Trigger: event.JobDeregister, Priority: order.EvalPriority}, &c)
	r.recorder.Commit(c)
	r.stop()
	return true, nil
}

// Ending reports whether the job was stopped, and whether it has ended. A job
// that has ended starts nothing more, but its children may still run.
func (j JobHandle) Ending() (stopped, ended bool) {
	r, err := j.engine.runs.find(j.key)
	if err != nil {
		return false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped || isStopped(r.newest.Load()) || r.stopping.Err() != nil && !r.ended, r.ended
}

// Replaces reports whether an allocation of the job that has ended will be
// replaced, unless an event has said that it will not. An order for the job has
// taken effect when Replaces returns.
func (j JobHandle) Replaces(id string) bool {
	return j.hasSlot(func(s *slot) bool { return s.living && len(s.Placed) > 0 && s.last().ID == id })
}

// HasMore reports whether the job has allocations besides the known ones, given by ID,
// or is about to place one that replaces none that has failed.
func (j JobHandle) HasMore(known map[string]bool) bool {
	return j.hasSlot(func(s *slot) bool {
		if len(s.Placed) == 0 || s.present == nil && s.last().Version != s.Want {
			return s.living
		}
		return !known[s.last().ID]
	})
}

// hasSlot reports whether a slot that may still get allocations is such.
func (j JobHandle) hasSlot(such func(*slot) bool) bool {
	r, err := j.engine.runs.find(j.key)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.slots, func(s *slot) bool { return !s.isOut() && such(s) })
}

// AllocStop is how to stop an allocation.
type AllocStop struct {
	Reschedule      bool // replace one of a batch job as if it had failed when it last changed
	NoShutdownDelay bool // wait for no shutdown_delay
}

// StopAlloc stops an allocation like `nomad alloc stop`: another one replaces
// it. StopAlloc does not wait.
func (e *Engine) StopAlloc(id string, order AllocStop) error {
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
		s.transit(api.DesiredTransition{Migrate: new(true), Reschedule: &order.Reschedule, NoShutdownDelay: &order.NoShutdownDelay})
		switch {
		case *cfg.Job.Type == api.JobTypeSysbatch:
			s.again = order.Reschedule
		case *cfg.Job.Type == api.JobTypeBatch && order.Reschedule:
			s.rescheduleStopped(a.State().LastEvent(), time.Now())
		default:
			s.again, s.Earlier = true, nil // its replacement can fail as often as the first one
		}
		s.stopAlloc(&c)
	}
	r.recorder.Commit(c)
	return nil
}

// SkipShutdownDelays makes all present allocations wait for no shutdown_delay when
// they stop.
func (e *Engine) SkipShutdownDelays() {
	for _, r := range e.runs.all() {
		r.mu.Lock()
		if !r.ended {
			var c store.Change
			r.slots.skipShutdownDelays(&c)
			r.recorder.Commit(c)
		}
		r.mu.Unlock()
	}
}
