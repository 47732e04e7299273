package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
	"taskrun/engine/runner"
)

// Alloc is a snapshot of an allocation.
type Alloc struct {
	event.Alloc
	runner.State
	Job      *api.Job // read only
	Replaces string   // ID of the allocation in whose place this one runs
}

// Allocs returns the allocations of this run that still live, by name.
func (e *Engine) Allocs() []Alloc {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Alloc, 0, len(e.allocs))
	for _, a := range e.allocs {
		cfg := a.Config()
		list = append(list, Alloc{Alloc: *cfg.Alloc, State: a.State(), Job: cfg.Job, Replaces: cfg.Replaces})
	}
	slices.SortFunc(list, func(a, b Alloc) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (e *Engine) alloc(id string) (*runner.Alloc, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a, ok := e.allocs[id]; ok {
		return a, nil
	}
	return nil, fmt.Errorf("Unknown allocation %q", id) //nolint:staticcheck // Nomad's words
}

// track makes a living allocation known, until the returned function is called.
func (e *Engine) track(a *runner.Alloc) (forget func()) {
	id := a.Config().Alloc.ID
	e.mu.Lock()
	defer e.mu.Unlock()
	e.allocs[id] = a
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.allocs, id)
	}
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

// Signal sends a signal, by Nomad's name, to a running task.
func (e *Engine) Signal(allocID, task, signal string) error {
	a, err := e.alloc(allocID)
	if err != nil {
		return err
	}
	return a.Signal(task, signal)
}
