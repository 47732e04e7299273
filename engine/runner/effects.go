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
			a.tasks[e.Task].apply("", causeEvent(e, a.tasks))
		case lifecycle.Tell:
			t := a.tasks[e.Task]
			if grace := t.killTimeout(); a.machine.IsOverdue() {
				t.apply("", event.KillingBecause(lifecycle.OverdueReason, grace))
			} else {
				t.apply("", event.Killing(grace))
			}
		case lifecycle.Cancel:
			a.tasks[e.Task].touch()
			a.turn.orders = append(a.turn.orders, e)
		default:
			a.turn.orders = append(a.turn.orders, e)
		}
	}
}

// revivals are the dead tasks that are to start again and have not yet told.
type revivals struct {
	count int
	over  chan struct{} // closed when count is zero again
}

func (r *revivals) add() {
	if r.count == 0 {
		r.over = make(chan struct{})
	}
	r.count++
}

// remove takes in that a dead task has told of its new start, or will not start.
func (r *revivals) remove() {
	if r.count--; r.count == 0 {
		close(r.over)
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
		a.revivals.add()
		a.tasks[e.Task].revive <- reasonAll
	}
}

// happens tells the machine what has happened to the task.
func (t *task) happens(kind lifecycle.InputKind) {
	t.alloc.happens(lifecycle.Input{Kind: kind, Task: t.index})
}

func causeEvent(e lifecycle.Effect, tasks []*task) *api.TaskEvent {
	switch e.Cause {
	case lifecycle.LeaderDead:
		return event.LeaderDead()
	case lifecycle.MainTasksDead:
		return event.MainTasksDead()
	default:
		return event.SiblingFailed(tasks[e.Sibling].name)
	}
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
