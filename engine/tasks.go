package engine

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Exec runs a command in a running task; see drivers.ExecTask.
func (e *Engine) Exec(ctx context.Context, allocID, task string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	a, err := e.alloc(allocID)
	if err != nil {
		return nil, err
	}
	return a.Exec(ctx, task, opts)
}

// RestartTask restarts a running task of an allocation, without counting it as
// a failure. It returns when the old run has ended.
func (e *Engine) RestartTask(ctx context.Context, allocID, task string) error {
	a, err := e.alloc(allocID)
	if err != nil {
		return err
	}
	return a.RestartTask(ctx, task, "", false)
}

// RestartAlloc restarts the running tasks of an allocation or, with all, also
// those that have ended, in the order of their lifecycle.
func (e *Engine) RestartAlloc(ctx context.Context, allocID string, all bool) error {
	a, err := e.alloc(allocID)
	if err != nil {
		return err
	}
	return a.Restart(ctx, all)
}

// CheckSignal says what is wrong with the name of a signal.
func CheckSignal(name string) error {
	_, err := drivers.ParseSignal(name)
	return err
}

// Signal sends a signal, by Nomad's name, to a running task.
func (e *Engine) Signal(allocID, task, signal string) error {
	a, err := e.alloc(allocID)
	if err != nil {
		return err
	}
	return a.Signal(task, signal)
}

// Stats returns what the running tasks of an allocation use now, each and
// together; with a task's name only what that one uses. Tasks whose driver
// cannot tell are left out.
func (e *Engine) Stats(ctx context.Context, allocID, task string) (*api.AllocResourceUsage, error) {
	a, err := e.alloc(allocID)
	if err != nil {
		return nil, err
	}
	used := &api.AllocResourceUsage{Tasks: map[string]*api.TaskResourceUsage{}}
	var all []*api.ResourceUsage
	for name, u := range a.Stats(ctx, task) {
		used.Tasks[name] = &u.TaskResourceUsage
		used.Timestamp = max(used.Timestamp, u.Timestamp)
		all = append(all, u.ResourceUsage)
	}
	used.ResourceUsage = drivers.SumUsage(all...)
	return used, nil
}
