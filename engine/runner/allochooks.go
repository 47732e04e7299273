package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/hooks"
)

func (a *Alloc) newHooks() []hooks.AllocHook {
	cfg := a.cfg
	info := hooks.Alloc{
		Alloc: cfg.Alloc, Job: cfg.Job, Group: cfg.Group, AllocDir: cfg.Dir, Dir: a.dir, Sticky: cfg.Sticky,
		Node: cfg.Node, Ports: cfg.Ports, TaskPorts: cfg.TaskPorts,
		Network:    a.networkManager(),
		SetNetwork: func(n *drivers.NetworkIsolation) { a.network = n },
		Isolation:  func() *drivers.NetworkIsolation { return a.network },
		Env:        a.env,
		Publish:    func(at time.Time, body event.Body) { a.publishNow(at, "", body) },
		ChecksPass: func(pass bool) { a.post(func() { a.unchecked = !pass }) },
		Restart: func(ctx context.Context, task, reason string) error {
			if task != "" {
				return a.RestartTask(ctx, task, reason, true)
			}
			return a.restartTasks(ctx, reason, true)
		},
	}
	var list []hooks.AllocHook
	for _, factory := range cfg.Hooks.Alloc {
		if h := factory(info); h != nil {
			list = append(list, h)
		}
	}
	return list
}

// prerun calls the hooks before the first task and reports how that went. It
// runs beside the owner, since a hook may take its time.
func (a *Alloc) prerun(called []hooks.AllocHook) {
	var failure error
	for _, h := range called {
		h, ok := h.(hooks.AllocPrerun)
		if !ok {
			continue
		}
		if err := h.Prerun(a.hard); err != nil {
			failure = fmt.Errorf("pre-run hook %q failed: %w", h.Name(), err)
			break
		}
	}
	a.post(func() {
		switch {
		case failure != nil:
			for _, t := range a.tasks {
				if t.state.State != dead {
					t.apply("", event.SetupFailure(failure))
				}
			}
			a.happens(lifecycle.Input{Kind: lifecycle.SetupFailed})
		case !a.machine.Memory().Prepared:
			a.happens(lifecycle.Input{Kind: lifecycle.Prepared})
		}
		for i, t := range a.tasks {
			if !a.machine.Mark(i).Ended {
				t.enterNetwork()
				a.children.Go(t.run)
			}
		}
	})
}

// prerunHooks are the hooks to call before the first task, also when that runs
// already; not when the allocation has failed or completed meanwhile.
func (a *Alloc) prerunHooks() []hooks.AllocHook {
	switch a.stored.Status {
	case api.AllocClientStatusFailed, api.AllocClientStatusComplete:
		if a.restored {
			return nil
		}
	}
	return a.hooks
}

// failRestored ends an allocation that cannot go on, with those of its tasks
// that still run.
func (a *Alloc) failRestored() Result {
	for _, t := range a.tasks {
		_ = within(a.hard.Done(), func() error {
			if err := t.recoverTask(); err != nil {
				return err
			}
			return t.driver.DestroyTask(t.id, true)
		})
		if t.state.State != dead {
			t.apply(dead, event.SetupFailure(a.failure))
		}
	}
	a.finish("post-run", a.postrun)
	return a.Fail(fmt.Sprintf("Unable to add allocation due to error: %v", a.failure))
}

func (a *Alloc) prekill() {
	for _, h := range a.hooks {
		if h, ok := h.(hooks.AllocPrekill); ok {
			h.Prekill(a.hard)
		}
	}
}

// preTaskRestart calls the hooks before the tasks are restarted as a group. The
// group's shutdown_delay applies here as well.
func (a *Alloc) preTaskRestart(ctx context.Context) {
	for _, h := range a.hooks {
		if h, ok := h.(hooks.AllocPreTaskRestart); ok {
			h.PreTaskRestart(ctx)
		}
	}
	a.shutdownDelay()
}

func (a *Alloc) postrun() {
	// What is cleaned up must be, even when there is no time left.
	ctx := context.WithoutCancel(a.hard)
	for _, h := range a.hooks {
		h, ok := h.(hooks.AllocPostrun)
		if !ok {
			continue
		}
		if err := h.Postrun(ctx); err != nil {
			a.publishNow(time.Now(), "", event.Notice{Text: fmt.Sprintf("post-run hook %q failed: %v", h.Name(), err)})
		}
	}
}

// shutdown calls the hooks when the engine ends and leaves the tasks running.
func (a *Alloc) shutdown() {
	for _, h := range a.hooks {
		if h, ok := h.(hooks.AllocShutdown); ok {
			h.Shutdown()
		}
	}
}

// Destroy removes what is left of an allocation that has ended. It may be
// called without Run.
func (a *Alloc) Destroy(ctx context.Context) error {
	var failures []error
	for _, h := range a.hooks {
		if h, ok := h.(hooks.AllocDestroy); ok {
			if err := h.Destroy(ctx); err != nil {
				failures = append(failures, fmt.Errorf("destroy hook %q failed: %w", h.Name(), err))
			}
		}
	}
	return errors.Join(failures...)
}
