package runner

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
)

// DriverEvent adds a driver's event about a task to the task's events. It drops
// events about tasks that are not in this allocation.
func (a *Alloc) DriverEvent(e drivers.TaskEvent) {
	t := a.tasks.named(e.TaskName)
	if t == nil {
		return
	}
	if e.Progress != nil {
		a.publishNow(e.Timestamp, t.name, event.Progress(*e.Progress))
		return
	}
	message, details := e.Message, map[string]string{}
	maps.Copy(details, e.Annotations)
	if e.Err != nil {
		details["driver_error"] = e.Err.Error()
		if !strings.Contains(message, e.Err.Error()) {
			message += ": " + e.Err.Error()
		}
	}
	told := event.Driver(message, details)
	if !e.Timestamp.IsZero() {
		told.Time = e.Timestamp.UnixNano()
	}
	t.emit(told)
}

// Signal sends a signal, given by Nomad's name, to a running task.
func (a *Alloc) Signal(ctx context.Context, name, signal string) error {
	t := a.tasks.named(name)
	if t == nil {
		return ErrUnknownTask
	}
	if err := awaitFound(ctx, a.inbox.over, t); err != nil {
		return err
	}
	return t.signal(event.Signaling(signal), signal)
}

// signal sends a signal to the task if it is running. why is the event that
// explains it.
func (t *task) signal(why *api.TaskEvent, signal string) error {
	if _, err := drivers.ParseSignal(signal); err != nil {
		return err
	}
	signaler, ok := t.driver.(drivers.Signaler)
	if !ok {
		return fmt.Errorf("SignalTask is not supported by driver %q", t.spec().Driver)
	}
	var handle string
	t.alloc.inbox.ask(func() {
		if handle = t.handle; handle != "" {
			t.apply("", why)
		}
	})
	if handle == "" {
		return ErrTaskNotRunning
	}
	return signaler.SignalTask(handle, signal)
}

// control executes the orders of a hook for its task; see hooks.Control.
type control struct{ t *taskRun }

func (c control) Restart(ctx context.Context, why *api.TaskEvent) error {
	req := newRestart(why, false)
	close(req.begin)
	c.t.inlet.offer(req)
	return req.await(ctx, c.t.alloc.inbox.over)
}

func (c control) Signal(why *api.TaskEvent, signal string) error { return c.t.signal(why, signal) }

func (c control) Fail(why *api.TaskEvent) {
	c.t.alloc.inbox.post(func() {
		c.t.failed = true
		c.t.apply("", why)
	})
	c.t.cancel()
}

func (c control) SetTemplateEnv(env map[string]string) { c.t.env.templates.Store(&env) }
