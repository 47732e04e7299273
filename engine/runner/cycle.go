package runner

import (
	"errors"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
)

// runOnce starts the task, waits for its end, and reports whether it must be
// started again.
func (t *taskRun) runOnce() bool {
	if !t.awaitGate() {
		return false
	}
	if again, started := t.begin(); !started {
		return again
	}
	return t.follow()
}

// begin starts the task. If it was not started, begin reports whether it must be
// started again.
func (t *taskRun) begin() (again, started bool) {
	failure := t.start()
	switch {
	case failure != nil && t.isKilled():
		if failure.event != nil {
			t.alloc.inbox.post(func() { t.apply("", failure.event) })
		}
		return false, false
	case failure != nil:
		return t.decide(restart.End{StartError: true, Recoverable: failure.recoverable}, nil, failure.event), false
	case t.progress.Step != stepStarted: // killed or left before there was anything to kill, or held
		return !t.isKilled() && !t.isLeft(), false
	}
	return false, true
}

// awaitGate waits until the task's stage may start tasks; false: it was killed.
func (t *taskRun) awaitGate() bool {
	if t.isKilled() {
		return false
	}
	t.alloc.inbox.post(func() { t.happens(lifecycle.Waits) })
	select {
	case <-t.gate:
		return !t.isKilled()
	case <-t.killed.Done():
	case <-t.alloc.leaving.Done():
	}
	return false
}

// follow watches the started task until its end, and reports whether it must
// be started again.
func (t *taskRun) follow() bool {
	t.hooks.poststart()
	t.env.built = nil // a task may run for years
	end := t.wait()
	return !end.left && t.over(end)
}

// over deals with the end of the task's run, and reports whether it must be started
// again.
func (t *taskRun) over(end *runEnd) bool {
	if t.output != nil {
		t.output.Drain()
	}
	if end.result != nil {
		t.watchMemory(t.id, end.result.PeakMemory)
	}
	t.terminated(end)
	again := t.conclude()
	if end.answer != nil {
		end.answer.done <- end.killErr
	}
	return again
}

// terminated tells how the task has ended; that is known before its driver
// forgets it.
func (t *taskRun) terminated(end *runEnd) {
	p := t.progress.next(stepEnded)
	r := end.result // nil when the driver lost the task
	p.End = restart.End{Killed: end.killed, Halted: end.halted, Requested: end.restart, Successful: r != nil && r.Successful()}
	if end.killErr != nil {
		p.KillError = end.killErr.Error()
	}
	t.advance(p, func() {
		t.handle = ""
		if r == nil {
			return
		}
		code := r.ExitCode
		if code == 0 && r.Signal != 0 {
			code = 128 + r.Signal
		}
		t.exitCode = &code
		t.apply("", event.Terminated(r.ExitCode, r.Signal, r.OOMKilled, r.Err))
	})
}

// conclude deals with the end of the task, and reports whether it must be
// started again.
func (t *taskRun) conclude() bool {
	if t.id != "" {
		_ = t.driver.DestroyTask(t.id, true)
	}
	t.hooks.exited()
	var killErr error
	if t.progress.KillError != "" {
		killErr = errors.New(t.progress.KillError)
	}
	return t.decide(t.progress.End, killErr, nil)
}

// decide applies the restart policy and waits for the delay. It reports whether to
// start the task again. why is the event that led here, or nil.
func (t *taskRun) decide(end restart.End, killErr error, why *api.TaskEvent) bool {
	now := time.Now()
	tracker, d := t.progress.Tracker.Decide(t.policy, end, now, t.alloc.cfg.Chance.Float("restart", t.alloc.cfg.Alloc.ID, t.name))
	p := progress{Step: stepDone, Tracker: tracker}
	state, told := dead, (*api.TaskEvent)(nil)
	switch d.Action {
	case restart.Killed:
		told = event.Killed(killErr)
	case restart.Fail:
		told = event.NotRestarting(d.Reason)
	case restart.Restart:
		select {
		case <-t.hurry: // it was for an earlier delay
		default:
		}
		p.Step, p.Until = stepDelay, now.Add(d.Delay)
		state, told = pending, event.Restarting(d.Delay, d.Reason, d.WithinPolicy)
	case restart.Halt:
		p.Step, state = stepNew, pending
	case restart.Finish:
	}
	t.advance(p, func() {
		t.dropStart()
		if why != nil {
			t.apply("", why)
		}
		t.apply(state, told)
	})
	return p.Step == stepNew || p.Step == stepDelay && t.sleepUntil(p.Until)
}

// sleepUntil waits; false: the task was killed or left. It does not wait for a task
// that is held, which waits at its gate.
func (t *taskRun) sleepUntil(at time.Time) bool {
	t.inlet.accept(halts)
	defer t.inlet.refuse()
	if t.held.Load() {
		return !t.isKilled()
	}
	select {
	case <-time.After(time.Until(at)):
		return !t.isKilled()
	case req := <-t.inlet.requests:
		req.done <- nil
		return !t.isKilled()
	case <-t.hurry:
		return !t.isKilled()
	case <-t.killed.Done():
	case <-t.alloc.leaving.Done():
	}
	return false
}
