package runner

import (
	"context"
	"errors"
	"fmt"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
)

// StopTask stops a task, and keeps it from starting again until StartTask. It
// returns once the task has ended. A stopped task is pending: its allocation
// continues, and the health of the task does not count.
func (a *Alloc) StopTask(ctx context.Context, name string) error {
	t := a.tasks.named(name)
	if t == nil {
		return ErrUnknownTask
	}
	req, err := newHalt(), ErrTaskNotRunning
	a.inbox.ask(func() {
		if err = t.mayHalt(); err == nil {
			t.halt(req)
		}
	})
	if err != nil {
		return err
	}
	err = req.await(ctx, a.inbox.over)
	a.inbox.ask(func() {
		if errors.Is(err, ErrTaskNotRunning) && t.halted {
			err = nil // it had not started, or has just ended by itself
		}
	})
	return err
}

// StartTask starts a task that StopTask has stopped. It does not wait until the
// task runs.
func (a *Alloc) StartTask(name string) error {
	t := a.tasks.named(name)
	if t == nil {
		return ErrUnknownTask
	}
	err := ErrTaskNotRunning
	a.inbox.ask(func() {
		switch {
		case t.halted:
			t.unhalt()
			err = nil
		case t.state.State == dead:
			err = fmt.Errorf("task %q has ended: only its whole allocation can start again", name)
		default:
			err = fmt.Errorf("task %q was not stopped: it is %s", name, t.state.State)
		}
	})
	return err
}

// Halted reports whether a user has stopped a task. The error is about an unknown
// task.
func (a *Alloc) Halted(name string) (halted bool, err error) {
	t := a.tasks.named(name)
	if t == nil {
		return false, ErrUnknownTask
	}
	a.inbox.ask(func() { halted = t.halted })
	return halted, nil
}

func newHalt() *restartRequest {
	req := newRestart(nil, false)
	req.halt = true
	return req
}

// mayHalt returns why the task cannot be stopped, or nil.
func (t *task) mayHalt() error {
	switch {
	case !t.stage.Lasting():
		return fmt.Errorf("task %q cannot be stopped alone: it is a %v task, and other tasks wait for its end", t.name, t.stage)
	case t.state.State == dead:
		return fmt.Errorf("task %q has ended", t.name)
	case t.alloc.machine.Memory().Killing:
		return fmt.Errorf("task %q is already being stopped, with its allocation", t.name)
	case t.halted:
		return fmt.Errorf("task %q is stopped already", t.name)
	}
	return nil
}

// halt passes the order to the machine and to the task.
func (t *task) halt(req *restartRequest) {
	t.setHalted(true)
	t.happens(lifecycle.Hold)
	t.apply("", event.Pausing())
	t.inlet.offer(req)
}

// unhalt lets the task start again. The watch on the allocation's health begins
// again: until now nothing could become healthy.
func (t *task) unhalt() {
	t.setHalted(false)
	t.happens(lifecycle.Unhold)
	t.apply("", event.Resuming())
	if h := &t.alloc.health; h.watch != nil && t.alloc.halted == 0 {
		h.end()
		h.begin()
	}
}

// takeOrders makes the running task take requests. It was stopped already if that
// was ordered while it started.
func (t *taskRun) takeOrders() {
	t.inlet.accept(everything)
	if t.held.Load() {
		t.inlet.offer(newHalt())
	}
}
