package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func newAllocHooks(a *Alloc) allocHooks {
	cfg := a.cfg
	info := hooks.Alloc{
		Alloc: cfg.Alloc, Job: cfg.Job, Group: cfg.Group, AllocDir: cfg.Dir, Dir: a.dir, Sticky: cfg.Sticky,
		Node: cfg.Node, Ports: cfg.Ports, TaskPorts: cfg.TaskPorts,
		Network:    networkManager(a.tasks),
		SetNetwork: func(n *drivers.NetworkIsolation) { a.network = n },
		Isolation:  func() *drivers.NetworkIsolation { return a.network },
		Capabilities: func(driver string) drivers.Capabilities {
			if d := cfg.Drivers[driver]; d != nil {
				return d.Capabilities()
			}
			return drivers.Capabilities{}
		},
		Env:        func() *taskenv.Env { cfg := a.Config(); return cfg.env() },
		Publish:    func(at time.Time, body event.Body) { a.publishNow(at, "", body) },
		ChecksPass: func(pass bool) { a.inbox.post(func() { a.health.unchecked = !pass }) },
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
	return allocHooks{alloc: a, list: list}
}

// networkManager returns the driver of the group's tasks that must create its
// network, or nil.
func networkManager(tasks []*task) drivers.NetworkManager {
	for _, t := range tasks {
		if m, ok := t.driver.(drivers.NetworkManager); ok && t.driver.Capabilities().MustInitiateNetwork {
			return m
		}
	}
	return nil
}

// finish calls f at the end of the allocation. After a kill it waits for f only
// for a limited time.
func (hs *allocHooks) finish(what string, f func()) {
	err := within(hs.alloc.hard.Done(), func() error { f(); return nil })
	if err != nil {
		hs.notice("gave up the %s hooks of allocation %s: %v", what, hs.alloc.cfg.Alloc.Name, err)
	}
}

func (hs *allocHooks) notice(format string, args ...any) {
	hs.alloc.publishNow(time.Now(), "", event.Notice{Text: fmt.Sprintf(format, args...)})
}

func (hs *allocHooks) prekill() {
	for h := range phases[hooks.AllocPrekill](hs.list) {
		h.Prekill(hs.alloc.hard)
	}
}

func (hs *allocHooks) postrun() {
	// The cleanup must happen even when no time is left.
	ctx := context.WithoutCancel(hs.alloc.hard)
	for h := range phases[hooks.AllocPostrun](hs.list) {
		if err := h.Postrun(ctx); err != nil {
			hs.notice("post-run hook %q failed: %v", h.Name(), err)
		}
	}
}

func (hs *allocHooks) shutdown() {
	for h := range phases[hooks.AllocShutdown](hs.list) {
		h.Shutdown()
	}
}

// update passes a new version of the job to the hooks of the allocation, and to those
// of its tasks.
func (hs *allocHooks) update(u *Update) {
	for h := range phases[hooks.AllocUpdate](hs.list) {
		if err := h.Update(hs.alloc.hard, u.Job, u.Group); err != nil {
			hs.notice("update hook %q failed: %v", h.Name(), err)
		}
	}
	for _, t := range hs.alloc.tasks {
		t.run.hooks.update()
	}
}

// Destroy removes the remains of an allocation that has ended. It works without
// Run.
func (a *Alloc) Destroy(ctx context.Context) error {
	var failures []error
	for h := range phases[hooks.AllocDestroy](a.hooks.list) {
		if err := h.Destroy(ctx); err != nil {
			failures = append(failures, fmt.Errorf("destroy hook %q failed: %w", h.Name(), err))
		}
	}
	return errors.Join(failures...)
}
