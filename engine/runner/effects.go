package runner

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
)

// happens tells the machine what has happened. What it wants to be told is
// told at once, its other orders are carried out at the end of the turn.
func (a *Alloc) happens(in lifecycle.Input) {
	if a.failure != nil { // nothing goes on
		return
	}
	for _, e := range a.machine.Next(in) {
		switch e.Kind {
		case lifecycle.Blame:
			a.tasks[e.Task].apply("", a.causeEvent(e))
		case lifecycle.Tell:
			t := a.tasks[e.Task]
			t.apply("", a.killEvent(t))
		case lifecycle.Cancel:
			a.tasks[e.Task].touch()
			a.turn.orders = append(a.turn.orders, e)
		default:
			a.turn.orders = append(a.turn.orders, e)
		}
	}
}

// hasRevived takes in that a dead task has told of its new start, or will not
// start.
func (a *Alloc) hasRevived() {
	if a.reviving--; a.reviving == 0 {
		close(a.revived)
	}
}

func (a *Alloc) carryOut(e lifecycle.Effect) {
	switch e.Kind {
	case lifecycle.Blame, lifecycle.Tell: // was carried out when it was told
	case lifecycle.Prekill:
		a.children.Go(func() {
			a.prekill()
			a.shutdownDelay()
			a.post(func() { a.happens(lifecycle.Input{Kind: lifecycle.ReadyToKill}) })
		})
	case lifecycle.Retire:
		a.children.Go(a.prekill)
	case lifecycle.Cancel:
		a.tasks[e.Task].cancel()
	case lifecycle.Start:
		a.tasks[e.Task].gate <- struct{}{}
	case lifecycle.Revive:
		if a.reviving == 0 {
			a.revived = make(chan struct{})
		}
		a.reviving++
		a.tasks[e.Task].revive <- reasonAll
	}
}

// happens tells the machine what has happened to the task.
func (t *task) happens(kind lifecycle.InputKind) {
	t.alloc.happens(lifecycle.Input{Kind: kind, Task: t.index})
}

func (a *Alloc) causeEvent(e lifecycle.Effect) *api.TaskEvent {
	switch e.Cause {
	case lifecycle.LeaderDead:
		return event.LeaderDead()
	case lifecycle.MainTasksDead:
		return event.MainTasksDead()
	default:
		return event.SiblingFailed(a.tasks[e.Sibling].name)
	}
}

func (a *Alloc) killEvent(t *task) *api.TaskEvent {
	if a.machine.IsOverdue() {
		return event.KillingBecause(lifecycle.OverdueReason, t.killTimeout())
	}
	return event.Killing(t.killTimeout())
}

// shutdownDelay waits for the group's shutdown_delay, but no longer than there
// are tasks.
func (a *Alloc) shutdownDelay() {
	d := a.Config().Group.ShutdownDelay
	if d == nil || *d <= 0 {
		return
	}
	timer := time.NewTimer(*d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.over:
	case <-a.hard.Done():
	}
}
