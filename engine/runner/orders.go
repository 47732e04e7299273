package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/hooks"
)

// Reasons of restarts, in Nomad's words.
const (
	reasonTask    = "User requested task to restart"
	reasonRunning = "User requested running tasks to restart"
	reasonAll     = "User requested all tasks to restart"
)

// restarts are requests to all tasks of an allocation, in order.
type restarts struct {
	alloc    *Alloc
	requests []*restartRequest
}

// finish lets the tasks stop, and waits for them.
func (r restarts) finish(ctx context.Context) error {
	for _, req := range r.requests {
		close(req.begin)
	}
	var failures []error
	for i, req := range r.requests {
		if err := req.await(ctx, r.alloc.inbox.over); err != nil && !errors.Is(err, ErrTaskNotRunning) {
			failures = append(failures, fmt.Errorf("failed to restart task %s: %w", r.alloc.tasks[i].name, err))
		}
	}
	return errors.Join(failures...)
}

// requestRestarts asks each running task to restart.
func requestRestarts(a *Alloc, reason string, failure bool) restarts {
	r := restarts{alloc: a}
	for _, t := range a.tasks {
		req := newRestart(event.RestartSignaled(reason), failure)
		r.requests = append(r.requests, req)
		t.inlet.offer(req)
	}
	return r
}

// awaitRevived waits until the tasks that had ended have reported that they
// start again, or do not. Tasks that are left to another engine report nothing.
func (r restarts) awaitRevived(ctx context.Context) {
	a := r.alloc
	var revived chan struct{}
	if !a.inbox.ask(func() { revived = a.revivals.over }) || revived == nil {
		return
	}
	select {
	case <-revived:
	case <-a.leaving.Done():
	case <-a.inbox.over:
	case <-ctx.Done():
	}
}

// RestartTask restarts a running task, and returns once its old run has ended.
// A restart because of a failure, such as an unhealthy check, counts against
// the restart policy. An empty reason means a user's order.
func (a *Alloc) RestartTask(ctx context.Context, name, reason string, failure bool) error {
	t := a.tasks.named(name)
	if t == nil {
		return fmt.Errorf("Could not find task runner for task: %s", name) //nolint:staticcheck // Nomad's words
	}
	if err := awaitFound(ctx, a.inbox.over, t); err != nil {
		return err
	}
	req := newRestart(event.RestartSignaled(cmp.Or(reason, reasonTask)), failure)
	close(req.begin)
	t.inlet.offer(req)
	return req.await(ctx, a.inbox.over)
}

// Hurry starts a task now that waits for the delay of its restart, and reports
// whether it does.
func (a *Alloc) Hurry(name string) (waits bool) {
	t := a.tasks.named(name)
	if t == nil || !a.inbox.ask(func() { waits = t.reached.Step == stepDelay }) || !waits {
		return false
	}
	select {
	case t.hurry <- struct{}{}:
	default: // it is about to start
	}
	return true
}

// Restart restarts the running tasks or, with all, also those that have ended,
// in the order of their lifecycle. It returns once the old runs have ended. As
// in Nomad, all tasks report their restart before any of them stops, so the
// verdict on the allocation's health does not see the first ones stop.
func (a *Alloc) Restart(ctx context.Context, all bool) error {
	return a.restart(ctx, all, all)
}

// Renew is Restart of all tasks, except that a task which a user has stopped stays
// stopped.
func (a *Alloc) Renew(ctx context.Context) error { return a.restart(ctx, true, false) }

func (a *Alloc) restart(ctx context.Context, all, stopped bool) error {
	reason := reasonRunning
	if all {
		reason = reasonAll
	}
	if err := awaitFound(ctx, a.inbox.over, a.tasks...); err != nil {
		return err
	}
	mayRestart := false
	if !a.inbox.ask(func() { mayRestart = a.machine.MayRestart() }) || !mayRestart {
		return ErrAllocEnded
	}
	for h := range phases[hooks.AllocPreTaskRestart](a.hooks.list) {
		h.PreTaskRestart(ctx)
	}
	a.shutdownDelay() // the group's delay applies here, too
	if all {
		a.inbox.ask(func() { a.happens(lifecycle.Input{Kind: lifecycle.RestartAll}) })
	}
	restarts := requestRestarts(a, reason, false)
	if all {
		for _, req := range restarts.requests {
			req.awaitTaken(ctx, a.inbox.over)
		}
		a.inbox.ask(func() {
			a.happens(lifecycle.Input{Kind: lifecycle.ReviveAll})
			for _, t := range a.tasks {
				if t.halted && stopped {
					t.unhalt()
				}
			}
		})
		restarts.awaitRevived(ctx)
	}
	return restarts.finish(ctx)
}

// awaitFound waits until drivers have found the tasks of a restored allocation that
// an order is for, or have failed to: until then these tasks seem not to run.
func awaitFound(ctx context.Context, over <-chan struct{}, tasks ...*task) error {
	for _, t := range tasks {
		if t.found.Err() != nil {
			continue
		}
		select {
		case <-t.found.Done():
		case <-over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// shutdownDelay waits for the group's shutdown_delay, until there are no tasks,
// or until no delay is wanted.
func (a *Alloc) shutdownDelay() {
	d := a.Config().Group.ShutdownDelay
	if d == nil || *d <= 0 {
		return
	}
	select {
	case <-time.After(*d):
	case <-a.inbox.over:
	case <-a.prompt.Done():
	case <-a.hard.Done():
	}
}

// Exec runs a command in a running task.
func (a *Alloc) Exec(ctx context.Context, name string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t := a.tasks.named(name)
	if t == nil {
		return nil, fmt.Errorf("unknown task name %q", name)
	}
	if err := awaitFound(ctx, a.inbox.over, t); err != nil {
		return nil, err
	}
	a.mu.Lock()
	state := t.state
	a.mu.Unlock()
	handle, halted := "", false
	a.inbox.ask(func() { handle, halted = t.handle, t.halted })
	switch {
	case handle != "":
		return drivers.ExecTask(ctx, t.driver, handle, opts)
	case halted:
		return nil, fmt.Errorf("task %q is stopped", name)
	case state.State == pending && state.StartedAt.IsZero():
		return nil, fmt.Errorf("task %q not started yet.", name) //nolint:staticcheck,revive // Nomad's words
	default:
		return nil, fmt.Errorf("task %q is not running.", name) //nolint:staticcheck,revive // Nomad's words
	}
}
