package services

import (
	"context"
	"sync/atomic"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// task is the hook of one task: its own services, and the group's script
// checks that run in it.
type task struct {
	hooks *Hooks
	alloc string // ID of its allocation
	spec  atomic.Pointer[api.Task]
	own   *offer // nil while it is not registered
}

func newTask(h *Hooks, info hooks.Task) *task {
	t := &task{hooks: h, alloc: info.Alloc.ID}
	t.spec.Store(info.Task)
	return t
}

// Name implements hooks.TaskHook.
func (t *task) Name() string { return "services" }

// Poststart registers the task's services.
func (t *task) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	a := t.hooks.of(t.alloc)
	if a == nil {
		return nil
	}
	t.withdraw()
	spec := t.spec.Load()
	var err error
	if t.own, err = a.offer(spec.Name, spec.Services, req.Env, req.Network); err != nil {
		return err
	}
	t.own.setExec(spec.Name, req.Exec)
	t.own.startChecks()
	return a.started(spec.Name, req.Exec)
}

// Prekill takes the services back before the task's shutdown_delay begins.
func (t *task) Prekill(context.Context) error {
	t.withdraw()
	return nil
}

// Exited takes the services back: they are registered again with the next
// start.
func (t *task) Exited(context.Context) error {
	t.withdraw()
	if a := t.hooks.of(t.alloc); a != nil {
		a.stopped(t.spec.Load().Name)
	}
	return nil
}

// Stop takes the services back.
func (t *task) Stop(context.Context) error {
	t.withdraw()
	return nil
}

// Shutdown ends the checks of a task that goes on without this engine.
func (t *task) Shutdown() { t.withdraw() }

// Update registers the services of a new version of the job when the task
// starts next.
func (t *task) Update(_ context.Context, req *hooks.UpdateRequest) error {
	t.spec.Store(req.Task)
	return nil
}

func (t *task) withdraw() {
	t.own.withdraw()
	t.own = nil
}
