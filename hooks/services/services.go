// Package services holds the hooks that register what an allocation and its
// tasks offer, and check it: Nomad's group_services, services, checks_hook and
// script_checks in one, since a check starts with its task here.
//
// Services of the group are registered before any task starts, those of a task
// when it has started, as in Nomad. Checks are run while what they check runs:
// those of a task's services from its start to its end, those of the group's
// from the moment when every main task has started.
package services

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// Hooks makes the hooks of one engine.
type Hooks struct {
	cfg Config

	mu     sync.Mutex
	allocs map[string]*alloc // by ID, from Alloc to Postrun
}

// New returns the hooks of an engine.
func New(cfg Config) *Hooks { return &Hooks{cfg: cfg, allocs: map[string]*alloc{}} }

// Alloc makes the hook of an allocation. It is a hooks.AllocFactory.
func (h *Hooks) Alloc(info hooks.Alloc) hooks.AllocHook {
	a := &alloc{hooks: h, group: info.Group, site: &site{
		cfg: h.cfg, info: info, began: time.Now(), running: map[string]execFunc{},
		tally: tally{tell: info.ChecksPass, passing: map[checkKey]bool{}},
	}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.allocs[info.Alloc.ID] = a
	return a
}

// of returns the hook of a task's allocation; nil after its Postrun.
func (h *Hooks) of(allocID string) *alloc {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.allocs[allocID]
}

func (h *Hooks) forget(allocID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.allocs, allocID)
}

// alloc is the hook of one allocation: its group's services.
type alloc struct {
	hooks *Hooks
	site  *site

	mu     sync.Mutex
	group  *api.TaskGroup // its newest version
	own    *offer         // of the group; nil while it is not registered
	ending bool           // register nothing from now on
}

// Name implements hooks.AllocHook.
func (a *alloc) Name() string { return "group_services" }

// Prerun registers the group's services.
func (a *alloc) Prerun(context.Context) error {
	a.site.tally.expect(a.site.info.Group)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.register()
}

// register registers the group's services, unless they are. The lock is held.
func (a *alloc) register() (err error) {
	if a.own != nil || a.ending || len(a.group.Services) == 0 {
		return nil
	}
	a.own, err = newOffer(a.site, "", a.group.Services, a.site.info.Env(), nil)
	return err
}

// deregister takes back the group's services, which it returns, and waits for
// the end of their checks.
func (a *alloc) deregister() *offer {
	a.mu.Lock()
	own := a.own
	a.own = nil
	a.mu.Unlock()
	own.withdraw()
	return own
}

// Prekill takes the group's services back before its shutdown_delay begins.
func (a *alloc) Prekill(context.Context) {
	a.mu.Lock()
	a.ending = true
	a.mu.Unlock()
	a.deregister()
}

// PreTaskRestart takes the group's services back; they are registered again
// when the first task has started.
func (a *alloc) PreTaskRestart(context.Context) { a.deregister() }

// Postrun forgets the allocation.
func (a *alloc) Postrun(ctx context.Context) error {
	a.Prekill(ctx)
	a.hooks.forget(a.site.info.Alloc.ID)
	a.site.cfg.Catalog.Forget(a.site.info.Alloc.ID)
	return nil
}

// Shutdown ends the checks of an allocation that continues without this engine.
func (a *alloc) Shutdown() { a.Prekill(context.Background()) }

// Update registers the services of a new version of the job. Those that are the
// same stay, and their checks with them.
func (a *alloc) Update(_ context.Context, _ *api.Job, group *api.TaskGroup) error {
	a.site.tally.expect(group)
	a.mu.Lock()
	same := reflect.DeepEqual(a.group.Services, group.Services)
	a.group = group
	a.mu.Unlock()
	if same {
		return nil
	}
	a.deregister().forget()
	return a.resume()
}

// resume registers the group's services, unless they are, and begins to check
// them once all main tasks run.
func (a *alloc) resume() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.register(); err != nil {
		return err
	}
	a.startGroupChecks()
	return nil
}

// startGroupChecks begins to check the group's services, if it is time. The
// lock is held.
func (a *alloc) startGroupChecks() {
	for _, t := range a.group.Tasks {
		if t.Lifecycle == nil && !a.site.runs(t.Name) {
			return
		}
	}
	if a.own != nil {
		a.own.startChecks()
	}
}
