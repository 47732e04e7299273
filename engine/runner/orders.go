package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/hooks"
)

// The answers to an order that cannot be carried out, in Nomad's words.
var (
	ErrTaskNotRunning = hooks.ErrNotRunning
	ErrUnknownTask    = errors.New("Task not found") //nolint:staticcheck // Nomad's words
	ErrAllocEnded     = errors.New("restart of an alloc that should not run")
)

// The reasons of restarts, in Nomad's words.
const (
	reasonTask    = "User requested task to restart"
	reasonRunning = "User requested running tasks to restart"
	reasonAll     = "User requested all tasks to restart"
)

// restartRequest asks a running task to end and start again.
type restartRequest struct {
	event   *api.TaskEvent
	failure bool          // the restart counts, as an exit would
	taken   chan struct{} // closed when the task has told of it
	begin   chan struct{} // closed when the task may stop
	done    chan error    // gets one answer, when the old run has ended
}

func newRestart(why *api.TaskEvent, failure bool) *restartRequest {
	return &restartRequest{event: why, failure: failure, taken: make(chan struct{}), begin: make(chan struct{}), done: make(chan error, 1)}
}

// inlet is where a task takes requests while it runs. At most one waits.
type inlet struct {
	requests chan *restartRequest // of capacity 1

	mu   sync.Mutex
	open bool
}

// offer hands the task a request, or refuses it.
func (in *inlet) offer(req *restartRequest) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.open {
		select {
		case in.requests <- req:
			return
		default: // one is under way
		}
	}
	req.done <- ErrTaskNotRunning
}

func (in *inlet) accept() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = true
}

// refuse takes no more requests, and answers one that came too late.
func (in *inlet) refuse() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.open = false
	select {
	case req := <-in.requests:
		req.done <- ErrTaskNotRunning
	default:
	}
}

// ask has the owner run f and waits until the turn is over; false: the
// allocation is over, and f was not run.
func (a *Alloc) ask(f func()) bool {
	done := make(chan struct{})
	select {
	case a.inbox <- func() { f(); a.turn.answers = append(a.turn.answers, done) }:
		<-done
		return true
	case <-a.over:
		return false
	}
}

func (a *Alloc) task(name string) *task {
	for _, t := range a.tasks {
		if t.name == name {
			return t
		}
	}
	return nil
}

// RestartTask restarts a running task, and returns when its old run has ended.
// A restart because of a failure, such as an unhealthy check, counts against
// the restart policy; an empty reason is that of a user's order.
func (a *Alloc) RestartTask(ctx context.Context, name, reason string, failure bool) error {
	t := a.task(name)
	if t == nil {
		return fmt.Errorf("Could not find task runner for task: %s", name) //nolint:staticcheck // Nomad's words
	}
	if reason == "" {
		reason = reasonTask
	}
	req := newRestart(event.RestartSignaled(reason), failure)
	close(req.begin)
	t.inlet.offer(req)
	return a.await(ctx, req)
}

// Restart restarts the tasks that run or, with all, also those that have
// ended, in the order of their lifecycle. It returns when the old runs have
// ended. As in Nomad, no task stops before every task has told that it
// restarts: the verdict on the allocation's health sees the others running.
func (a *Alloc) Restart(ctx context.Context, all bool) error {
	reason := reasonRunning
	if all {
		reason = reasonAll
	}
	mayRestart := false
	if !a.ask(func() { mayRestart = a.machine.MayRestart() }) || !mayRestart {
		return ErrAllocEnded
	}
	a.preTaskRestart(ctx)
	if all {
		a.ask(func() { a.happens(lifecycle.Input{Kind: lifecycle.RestartAll}) })
	}
	requests := a.requestRestart(reason, false)
	if all {
		for _, req := range requests {
			a.awaitTaken(ctx, req)
		}
		a.ask(func() { a.happens(lifecycle.Input{Kind: lifecycle.ReviveAll}) })
		a.awaitRevived(ctx)
	}
	return a.awaitRestarts(ctx, requests)
}

// restartTasks restarts the tasks that run.
func (a *Alloc) restartTasks(ctx context.Context, reason string, failure bool) error {
	return a.awaitRestarts(ctx, a.requestRestart(reason, failure))
}

// requestRestart asks each task to restart, if it runs.
func (a *Alloc) requestRestart(reason string, failure bool) []*restartRequest {
	requests := make([]*restartRequest, len(a.tasks))
	for i, t := range a.tasks {
		requests[i] = newRestart(event.RestartSignaled(reason), failure)
		t.inlet.offer(requests[i])
	}
	return requests
}

// awaitRestarts lets the tasks stop, and waits until they have.
func (a *Alloc) awaitRestarts(ctx context.Context, requests []*restartRequest) error {
	for _, req := range requests {
		close(req.begin)
	}
	var failures []error
	for i, req := range requests {
		if err := a.await(ctx, req); err != nil && !errors.Is(err, ErrTaskNotRunning) {
			failures = append(failures, fmt.Errorf("failed to restart task %s: %w", a.tasks[i].name, err))
		}
	}
	return errors.Join(failures...)
}

// awaitRevived waits until the tasks that had ended have told that they start
// again, or that they do not. Those that are left to another engine tell
// nothing.
func (a *Alloc) awaitRevived(ctx context.Context) {
	var revived chan struct{}
	if !a.ask(func() { revived = a.revived }) || revived == nil {
		return
	}
	select {
	case <-revived:
	case <-a.leaving.Done():
	case <-a.over:
	case <-ctx.Done():
	}
}

// awaitTaken waits until the task has told that it restarts, or does not.
func (a *Alloc) awaitTaken(ctx context.Context, req *restartRequest) {
	select {
	case <-req.taken:
	case err := <-req.done:
		req.done <- err
	case <-a.over:
	case <-ctx.Done():
	}
}

// await waits for the answer to a request. A task that was given up has none.
func (a *Alloc) await(ctx context.Context, req *restartRequest) error {
	select {
	case err := <-req.done:
		return err
	case <-a.over:
	case <-ctx.Done():
	}
	select {
	case err := <-req.done: // it had been answered before
		return err
	default:
		return cmp.Or(context.Cause(ctx), ErrTaskNotRunning)
	}
}

// Exec runs a command in a running task, over the messages of a session.
func (a *Alloc) Exec(ctx context.Context, name string, command []string, tty bool, stream drivers.ExecStream) error {
	t := a.task(name)
	if t == nil {
		return fmt.Errorf("unknown task name %q", name)
	}
	a.mu.Lock()
	state := t.state
	a.mu.Unlock()
	handle := ""
	a.ask(func() { handle = t.handle })
	switch {
	case handle != "":
		return drivers.ExecTask(ctx, t.driver, handle, command, tty, stream)
	case state.State == pending && state.StartedAt.IsZero():
		return fmt.Errorf("task %q not started yet.", name) //nolint:staticcheck,revive // Nomad's words
	default:
		return fmt.Errorf("task %q is not running.", name) //nolint:staticcheck,revive // Nomad's words
	}
}

// Signal sends a signal, by Nomad's name, to a running task.
func (a *Alloc) Signal(name, signal string) error {
	t := a.task(name)
	if t == nil {
		return ErrUnknownTask
	}
	return t.signal(event.Signaling(signal), signal)
}

// signal sends a signal to the task if it runs; why tells of it.
func (t *task) signal(why *api.TaskEvent, signal string) error {
	if _, err := drivers.ParseSignal(signal); err != nil {
		return err
	}
	signaler, ok := t.driver.(drivers.Signaler)
	if !ok {
		return fmt.Errorf("SignalTask is not supported by driver %q", t.spec().Driver)
	}
	var handle string
	t.alloc.ask(func() {
		if handle = t.handle; handle != "" {
			t.apply("", why)
		}
	})
	if handle == "" {
		return ErrTaskNotRunning
	}
	return signaler.SignalTask(handle, signal)
}
