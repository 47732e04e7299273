package runner

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
)

// happens passes an input to the machine. The events that the machine wants to
// tell are applied at once; its other orders are carried out at the end of the
// turn.
func (a *Alloc) happens(in lifecycle.Input) {
	if a.failure != nil { // the allocation does not continue
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

// happens passes an input about the task to the machine.
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

// apply adds an event to the task and, unless state is empty, changes its
// state. Only the allocation's goroutine calls it.
func (t *task) apply(state string, e *api.TaskEvent) {
	before, after := t.state, advance(t.state, state, e, time.Now())
	t.told, t.repeats = nil, nil
	t.touch()
	t.alloc.mu.Lock()
	t.state, t.alloc.modified = after, time.Now()
	t.alloc.mu.Unlock()
	if after.State == dead && t.halted {
		t.setHalted(false)
	}
	if e != nil {
		t.publish(event.TaskEvent{TaskEvent: e})
	}
	moved := before.State != after.State || before.Failed != after.Failed
	halted := t.halted && after.State == pending && t.handle == ""
	if moved || before.Restarts != after.Restarts || halted != t.shown {
		t.shown = halted
		t.publish(event.TaskState{
			State: after.State, Failed: after.Failed, Restarts: after.Restarts, ExitCode: t.exitCode, Halted: halted,
		})
	}
	if moved {
		t.alloc.happens(lifecycle.Input{
			Kind: lifecycle.Changed, Task: t.index, Phase: phase(after), Failed: after.Failed,
		})
	}
}

// setHalted records whether a user has stopped the task.
func (t *task) setHalted(halted bool) {
	t.halted = halted
	t.held.Store(halted)
	if halted {
		t.alloc.halted++
	} else {
		t.alloc.halted--
	}
}

// emit adds an event of a hook. If an earlier engine has recorded the event,
// and the hook repeats it for this one, it is dropped.
func (t *task) emit(e *api.TaskEvent) {
	t.alloc.inbox.post(func() {
		text := e.Type + ": " + e.DisplayMessage
		told, repeats := t.told, t.repeats
		if i := slices.Index(repeats, text); i >= 0 {
			t.told, t.repeats = append(told, text), slices.Delete(repeats, i, i+1)
			return
		}
		t.apply("", e)
		if t.alloc.recorder.Durable() {
			told = append(told, text)
			t.told, t.repeats = told[max(0, len(told)-keptEvents):], repeats
		}
	})
}
