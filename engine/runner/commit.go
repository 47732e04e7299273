package runner

import (
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
)

// commit ends the turn.
func (a *Alloc) commit() {
	t := &a.turn
	a.store()
	a.recorder.Commit(t.change)
	t.change.Reset()
	for _, order := range t.orders {
		a.carryOut(order)
	}
	t.orders = t.orders[:0]
	if t.verdict {
		t.verdict = false
		a.health.passOn()
	}
	a.inbox.answer()
}

// store adds the changes of this turn to the records.
func (a *Alloc) store() {
	if !a.recorder.Durable() {
		return
	}
	c := &a.turn.change
	for _, t := range a.turn.tasks {
		t.touched = false
		c.Put(t.key(taskKey), taskRecord{
			State: t.state, ExitCode: t.exitCode, Modified: a.modified, Mark: a.machine.Mark(t.index), Progress: t.reached,
			Failed: t.failed, Halted: t.halted, OverLimit: t.overLimit, Told: t.told,
		})
	}
	a.turn.tasks = a.turn.tasks[:0]
	if now := newAllocRecord(a); now != a.stored {
		a.stored = now
		c.Put(store.KeyOf(allocKey, a.cfg.Alloc.ID), now)
	}
}

func newAllocRecord(a *Alloc) allocRecord {
	r := allocRecord{
		Created: a.created, Status: a.status, Description: a.description, Machine: a.machine.Memory(),
		Health: a.health.verdict, Deployment: a.cfg.Deployment, Forced: a.forced, Over: a.ended,
	}
	if a.health.watch != nil {
		r.Watching, r.Watch = true, *a.health.watch
	}
	return r
}

func (a *Alloc) carryOut(e lifecycle.Effect) {
	switch e.Kind {
	case lifecycle.Blame, lifecycle.Tell: // carried out when it was published
	case lifecycle.Prekill:
		a.children.Go(func() {
			a.hooks.prekill()
			a.shutdownDelay()
			a.inbox.post(func() { a.happens(lifecycle.Input{Kind: lifecycle.ReadyToKill}) })
		})
	case lifecycle.Retire:
		a.children.Go(a.hooks.prekill)
	case lifecycle.Cancel:
		a.tasks[e.Task].cancel()
	case lifecycle.Start:
		a.tasks[e.Task].gate <- struct{}{}
	case lifecycle.Revive:
		a.revivals.add()
		a.tasks[e.Task].revive <- reasonAll
	}
}
