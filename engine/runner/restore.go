package runner

import (
	"errors"
	"fmt"
	"os"

	"taskrun/drivers"
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
)

// Restore returns an allocation that an earlier engine has left, as cfg's
// Recorder knows it. Run goes on with it: tasks that run are followed, nothing
// is done or told a second time. One of which nothing was stored begins.
//
// An allocation that cannot be restored fails when it is run.
func Restore(cfg Config) *Alloc {
	a := New(cfg)
	known, err := a.recorder.Get(store.KeyOf(allocKey, cfg.Alloc.ID), &a.stored)
	if !known {
		return a
	}
	a.restored = true
	records := make([]taskRecord, len(a.tasks))
	for i, t := range a.tasks {
		err = errors.Join(err, recovery{t}.load(&records[i]))
	}
	a.restore(records)
	if _, statErr := os.Stat(cfg.Dir); statErr != nil && a.stored.Machine.Prepared && !a.stored.Over {
		err = errors.Join(err, fmt.Errorf("allocation directory is inaccessible: %w", statErr))
	}
	a.failure = err
	if !a.ended {
		a.looking.Add(len(a.tasks))
	}
	return a
}

// restore takes the allocation to where it was.
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
		recovery{t}.restore(stored)
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
		close(a.over)
	}
}

// recovery takes a task to where an earlier engine has left it.
type recovery struct{ *task }

// load reads what is stored of the task.
func (t recovery) load(r *taskRecord) error {
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

func (t recovery) restore(r *taskRecord) {
	if r.State.State == "" {
		r.State.State = pending
	}
	t.state, t.exitCode, t.overLimit, t.repeats, t.failed = r.State, r.ExitCode, r.OverLimit, r.Told, r.Failed
	if !r.Progress.Tracker.Start.IsZero() {
		t.progress = r.Progress
	}
	t.reached, t.recovering = t.progress, true
	if t.failed {
		t.cancel()
	}
}
