package runner

import (
	"errors"
	"fmt"
	"os"
	"time"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/engine/store"
)

// recoverTask tells the driver to find the task.
func (t *taskRun) recoverTask() error {
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

// proceed starts the first turn of a restored allocation.
func (a *Alloc) proceed() {
	a.happens(lifecycle.Input{Kind: lifecycle.Restored})
	a.turn.verdict = a.health.verdict != health.Unknown
	memory := a.machine.Memory()
	if memory.Prepared && !memory.Killing && memory.State == lifecycle.StateInit {
		for _, t := range a.tasks { // some may not know yet that all of them start again
			if t.run.progress.Step == stepStarted && !t.run.progress.Restarting {
				req := newRestart(event.RestartSignaled(reasonAll), false)
				close(req.begin)
				t.inlet.requests <- req
			}
		}
	}
	switch {
	case a.stored.Deployment != a.cfg.Deployment: // the deployment changed while there was no engine
		a.health.renew()
	case a.stored.Watching:
		a.health.watch, a.health.timer = new(a.stored.Watch), time.NewTimer(0)
	}
}

// resume continues with the task where it is, and reports whether to start it.
func (t *taskRun) resume() bool {
	if t.recovering {
		defer func() { t.recovering = false; t.looked() }()
	}
	switch t.progress.Step {
	case stepDelay:
		t.looked() // there is nothing to find
		return t.sleepUntil(t.progress.Until)
	case stepIntent, stepStarted:
		return t.reattach()
	case stepEnded:
		if t.recoverTask() != nil {
			t.id = "" // nothing is left of it
		}
		t.looked()
		return t.conclude()
	case stepDone:
		return false
	default:
		return true
	}
}

// reattach finds the task that the driver has started, or was starting, and
// follows it. It reports whether the task must be started again.
func (t *taskRun) reattach() bool {
	failure := t.hooks.prestart()
	err := t.recoverTask()
	switch {
	case err != nil || failure != nil:
	case t.progress.Step == stepIntent:
		t.begun(t.started, t.network)
	default:
		id := t.id
		t.alloc.inbox.post(func() { t.handle = id })
		t.takeOrders()
	}
	t.looked()
	switch {
	case err != nil:
		return t.lost(err)
	case failure != nil: // it cannot continue without its hooks
		_ = t.driver.DestroyTask(t.id, true)
		return t.decide(restart.End{StartError: true, Recoverable: failure.recoverable}, nil, failure.event)
	}
	return t.follow()
}

// lost handles a task that the driver cannot find. It reports whether to start
// the task again, which does not count as a restart.
func (t *taskRun) lost(err error) bool {
	_ = t.driver.DestroyTask(t.id, true)
	t.inlet.refuse()
	switch {
	case t.progress.Step == stepIntent: // it was never started
		t.move(stepNew, t.dropStart)
		return true
	case t.isKilled() || t.progress.Restarting:
		return t.decide(restart.End{Killed: t.isKilled(), Halted: t.progress.Halt, Requested: !t.progress.Failure}, nil, nil)
	}
	t.move(stepNew, func() {
		t.dropStart()
		t.apply(pending, event.FailedRestoring(err))
	})
	return true
}

// Restore returns an allocation of an earlier engine, from the records of cfg's
// Recorder. Run continues it: running tasks are followed, and nothing is done
// or reported twice. An allocation without records starts from the beginning.
//
// An allocation that cannot be restored fails when it is run.
func Restore(cfg Config) *Alloc {
	a := newAlloc(cfg)
	known, err := a.recorder.Get(store.KeyOf(allocKey, cfg.Alloc.ID), &a.stored)
	if !known {
		a.tasks.looked()
		return a
	}
	a.restored = true
	records := make([]taskRecord, len(a.tasks))
	for i, t := range a.tasks {
		err = errors.Join(err, t.run.load(&records[i]))
	}
	a.restore(records)
	if _, statErr := os.Stat(cfg.Dir); statErr != nil && a.stored.Machine.Prepared && !a.stored.Over {
		err = errors.Join(err, fmt.Errorf("allocation directory is inaccessible: %w", statErr))
	}
	a.failure = err
	return a
}

// restore brings the allocation into its recorded state.
func (a *Alloc) restore(records []taskRecord) {
	r := &a.stored
	a.created, a.modified = r.Created, r.Created
	a.status, a.description, a.forced, a.ended = r.Status, r.Description, r.Forced, r.Over
	if r.Deployment == a.cfg.Deployment {
		a.health.verdict = r.Health
	}
	members, marks := make([]lifecycle.Task, len(a.tasks)), make([]lifecycle.Mark, len(a.tasks))
	for i, t := range a.tasks {
		stored := &records[i]
		t.run.restore(stored)
		if stored.Modified.After(a.modified) {
			a.modified = stored.Modified
		}
		members[i] = lifecycle.Task{
			Name: t.name, Stage: t.stage, Leader: t.spec().Leader, Phase: phase(t.state), Failed: t.state.Failed,
		}
		marks[i] = stored.Mark
		if stored.Mark.Ended {
			a.gone++
		}
	}
	a.machine = lifecycle.Restore(members, marks, r.Machine)
	if a.ended {
		close(a.inbox.over)
		a.tasks.looked()
	}
}

// load reads the records of the task.
func (t *taskRun) load(r *taskRecord) error {
	a := t.alloc
	var given hooksRecord
	if _, err := a.recorder.Get(t.key(taskKey), r); err != nil {
		return err
	}
	if _, err := a.recorder.Get(t.key(hooksKey), &given); err != nil {
		return err
	}
	t.hooks.restore(given)
	var start startRecord
	if known, err := a.recorder.Get(t.key(startKey), &start); !known || err != nil {
		return err
	}
	cfg, err := start.config()
	if err != nil {
		return fmt.Errorf("cannot read how task %q was started: %w", t.name, err)
	}
	var handle handleRecord
	if _, err := a.recorder.Get(t.key(handleKey), &handle); err != nil {
		return err
	}
	t.started = &drivers.TaskHandle{Version: handle.Version, Config: cfg, State: handle.State, DriverState: handle.DriverState}
	t.id, t.network = cfg.ID, handle.Network
	return nil
}

func (t *taskRun) restore(r *taskRecord) {
	if r.State.State == "" {
		r.State.State = pending
	}
	t.state, t.exitCode, t.overLimit, t.repeats, t.failed = r.State, r.ExitCode, r.OverLimit, r.Told, r.Failed
	if !r.Progress.Tracker.Start.IsZero() {
		t.progress = r.Progress
	}
	t.reached, t.recovering = t.progress, true
	if r.Halted {
		t.setHalted(true)
		t.shown = t.state.State == pending && t.progress.Step != stepStarted
	}
	if t.failed {
		t.cancel()
	}
}
