package runner

import (
	"fmt"
	"time"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
)

// recoverTask has the driver find the task again.
func (t *task) recoverTask() error {
	defer t.looked()
	d, ok := t.driver.(drivers.Recoverer)
	switch {
	case !ok:
		return fmt.Errorf("driver %q cannot find its tasks again", t.spec().Driver)
	case t.started == nil:
		return drivers.ErrTaskNotFound
	}
	t.started.Config.Output = t.output
	return d.RecoverTask(t.started)
}

// proceed begins the first turn of a restored allocation.
func (a *Alloc) proceed() {
	a.happens(lifecycle.Input{Kind: lifecycle.Restored})
	a.turn.verdict = a.health.verdict != health.Unknown
	memory := a.machine.Memory()
	if memory.Prepared && !memory.Killing && memory.State == lifecycle.StateInit {
		for _, t := range a.tasks { // that all start anew some may not have heard
			if t.progress.Step == stepStarted && !t.progress.Restarting {
				req := newRestart(event.RestartSignaled(reasonAll), false)
				close(req.begin)
				t.inlet.requests <- req
			}
		}
	}
	switch {
	case a.stored.Deployment != a.cfg.Deployment: // it has not heard of that
		a.health.renew()
	case a.stored.Watching:
		a.health.watch, a.health.timer = new(a.stored.Watch), time.NewTimer(0)
	}
}

// resume goes on with the task where it is, and reports whether it is to be
// started.
func (t recovery) resume() bool {
	if t.recovering {
		defer func() { t.recovering = false; t.looked() }()
	}
	switch t.progress.Step {
	case stepDelay:
		return t.sleepUntil(t.progress.Until)
	case stepIntent, stepStarted:
		return t.reattach()
	case stepEnded:
		if t.recoverTask() != nil {
			t.id = "" // nothing is left of it
		}
		return t.conclude()
	case stepDone:
		return false
	default:
		return true
	}
}

// reattach finds the task that the driver was starting, or had started, and
// follows it. It reports whether the task must be started again.
func (t recovery) reattach() bool {
	failure := t.hooks.prestart()
	err := t.recoverTask()
	switch {
	case err != nil:
		return t.lost(err)
	case failure != nil: // it cannot go on without its hooks
		_ = t.driver.DestroyTask(t.id, true)
		return t.decide(restart.End{StartError: true, Recoverable: failure.recoverable}, nil, failure.event)
	case t.progress.Step == stepIntent:
		t.begun(t.started, t.network)
	default:
		id := t.id
		t.alloc.post(func() { t.handle = id })
		t.inlet.accept()
	}
	return t.follow()
}

// lost deals with a task that the driver cannot find. It reports whether the
// task is to be started anew, which does not count as a restart.
func (t recovery) lost(err error) bool {
	_ = t.driver.DestroyTask(t.id, true)
	t.inlet.refuse()
	switch {
	case t.progress.Step == stepIntent: // it was never started
		t.move(stepNew, t.dropStart)
		return true
	case t.isKilled() || t.progress.Restarting:
		return t.decide(restart.End{Killed: t.isKilled(), Requested: !t.progress.Failure}, nil, nil)
	}
	t.move(stepNew, func() {
		t.dropStart()
		t.apply(pending, event.FailedRestoring(err))
	})
	return true
}
