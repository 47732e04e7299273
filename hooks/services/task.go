package services

import (
	"context"
	"reflect"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// task is the hook of one task: its own services, and the group's script
// checks that run in it.
type task struct {
	hooks *Hooks
	alloc string // ID of its allocation
	name  string

	mu      sync.Mutex              // held over a whole phase: Update comes beside others
	spec    *api.Task               // its newest version
	running *hooks.PoststartRequest // nil before the start, and once it ends
	own     *offer                  // nil while it is not registered
}

// Task makes the hook of a task. It is a hooks.TaskFactory.
func (h *Hooks) Task(info hooks.Task) hooks.TaskHook {
	return &task{hooks: h, alloc: info.Alloc.ID, name: info.Task.Name, spec: info.Task}
}

// Name implements hooks.TaskHook.
func (t *task) Name() string { return "services" }

// Poststart registers the task's services.
func (t *task) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	a := t.hooks.of(t.alloc)
	if a == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own.withdraw()
	run := *req // it is used again for the next hook
	t.running = &run
	a.site.started(t.name, req.Exec)
	if err := t.register(a); err != nil {
		return err
	}
	return a.resume()
}

// register registers the services of the running task.
func (t *task) register(a *alloc) (err error) {
	t.own, err = newOffer(a.site, t.name, t.spec.Services, t.running.Env, t.running.Network)
	if err == nil {
		t.own.startChecks()
	}
	return err
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
		a.site.stopped(t.name)
	}
	return nil
}

// Stop takes the services back.
func (t *task) Stop(context.Context) error {
	t.withdraw()
	return nil
}

// Shutdown ends the checks of a task that continues without this engine.
func (t *task) Shutdown() { t.withdraw() }

// Update registers the services of a new version of the job. Those that are the
// same stay, and their checks with them.
func (t *task) Update(_ context.Context, req *hooks.UpdateRequest) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := reflect.DeepEqual(t.spec.Services, req.Task.Services)
	t.spec = req.Task
	a := t.hooks.of(t.alloc)
	if same || t.running == nil || a == nil {
		return nil
	}
	t.own.withdraw()
	t.own.forget()
	return t.register(a)
}

func (t *task) withdraw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own.withdraw()
	t.own, t.running = nil, nil
}
