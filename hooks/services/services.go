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
	"sync"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/hooks"
	"taskrun/hooks/services/check"
)

// Answer returns the result of a probe that is not carried out: that of a check of
// an allocation, a time after the allocation began.
type Answer func(alloc *event.Alloc, since time.Duration, c *check.Check) check.Result

// Hooks makes the hooks of one engine.
type Hooks struct {
	catalog  *service.Catalog
	unprobed bool
	answer   Answer // nil: probes are carried out

	mu     sync.Mutex
	allocs map[string]*alloc // by ID, from Alloc to Postrun
}

// New returns the hooks that keep a catalog.
func New(c *service.Catalog) *Hooks { return &Hooks{catalog: c, allocs: map[string]*alloc{}} }

// NewUnprobed returns hooks whose checks pass without a probe, for services of tasks
// that do not run.
func NewUnprobed(c *service.Catalog) *Hooks {
	h := New(c)
	h.unprobed = true
	return h
}

// NewAnswered returns hooks that take the result of each probe from a function. When
// there are probes, and what follows from them, stays as it is.
func NewAnswered(c *service.Catalog, answer Answer) *Hooks {
	h := New(c)
	h.answer = answer
	return h
}

// Alloc makes the hook of an allocation. It is a hooks.AllocFactory.
func (h *Hooks) Alloc(info hooks.Alloc) hooks.AllocHook {
	a := newAlloc(h, info)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.allocs[info.Alloc.ID] = a
	return a
}

// Task makes the hook of a task. It is a hooks.TaskFactory.
func (h *Hooks) Task(info hooks.Task) hooks.TaskHook { return newTask(h, info) }

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
