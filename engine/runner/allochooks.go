package runner

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func newAllocHooks(a *Alloc) []hooks.AllocHook {
	cfg := a.cfg
	info := hooks.Alloc{
		Alloc: cfg.Alloc, Job: cfg.Job, Group: cfg.Group, AllocDir: cfg.Dir, Dir: a.dir, Sticky: cfg.Sticky,
		Node: cfg.Node, Ports: cfg.Ports, TaskPorts: cfg.TaskPorts,
		Network:    networkManager(a.tasks),
		SetNetwork: func(n *drivers.NetworkIsolation) { a.network = n },
		Isolation:  func() *drivers.NetworkIsolation { return a.network },
		Env:        func() *taskenv.Env { cfg := a.Config(); return cfg.env() },
		Publish:    func(at time.Time, body event.Body) { a.publishNow(at, "", body) },
		ChecksPass: func(pass bool) { a.post(func() { a.health.unchecked = !pass }) },
		Restart: func(ctx context.Context, task, reason string) error {
			if task != "" {
				return a.RestartTask(ctx, task, reason, true)
			}
			return requestRestarts(a, reason, true).finish(ctx)
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

// phases returns the hooks that have a phase, in their order.
func phases[H any](list []hooks.AllocHook) iter.Seq[H] {
	return func(yield func(H) bool) {
		for _, h := range list {
			if h, ok := h.(H); ok && !yield(h) {
				return
			}
		}
	}
}

// prerun calls the hooks before the first task and reports how that went. It
// runs beside the owner, since a hook may take its time.
func (a *Alloc) prerun(called []hooks.AllocHook) {
	var failure error
	for h := range phases[hooks.AllocPrerun](called) {
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
	for h := range phases[hooks.AllocPrekill](a.hooks) {
		h.Prekill(a.hard)
	}
}

func (a *Alloc) postrun() {
	// What is cleaned up must be, even when there is no time left.
	ctx := context.WithoutCancel(a.hard)
	for h := range phases[hooks.AllocPostrun](a.hooks) {
		if err := h.Postrun(ctx); err != nil {
			a.publishNow(time.Now(), "", event.Notice{Text: fmt.Sprintf("post-run hook %q failed: %v", h.Name(), err)})
		}
	}
}

// Destroy removes what is left of an allocation that has ended. It may be
// called without Run.
func (a *Alloc) Destroy(ctx context.Context) error {
	var failures []error
	for h := range phases[hooks.AllocDestroy](a.hooks) {
		if err := h.Destroy(ctx); err != nil {
			failures = append(failures, fmt.Errorf("destroy hook %q failed: %w", h.Name(), err))
		}
	}
	return errors.Join(failures...)
}
