package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Allocs returns the allocations of this run, running and ended, sorted by name
// and then by age.
func (e *Engine) Allocs() []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.known)
}

// AllocsOf returns the allocations of one job, in the same order.
func (e *Engine) AllocsOf(job string) []Alloc {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	return snapshots(e.allocs.ofJob[job])
}

func snapshots(known map[string]*knownAlloc) []Alloc {
	list := make([]Alloc, 0, len(known))
	for _, a := range known {
		list = append(list, a.snapshot())
	}
	slices.SortFunc(list, func(a, b Alloc) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created))
	})
	return list
}

// Alloc returns the allocation of this run with an ID.
func (e *Engine) Alloc(id string) (Alloc, bool) {
	e.allocs.mu.Lock()
	defer e.allocs.mu.Unlock()
	a, ok := e.allocs.known[id]
	if !ok {
		return Alloc{}, false
	}
	return a.snapshot(), true
}

// Exec runs a command in a running task; see drivers.ExecTask.
func (a Alloc) Exec(ctx context.Context, task string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	return a.now.Exec(ctx, task, opts)
}

// RestartTask restarts a running task without counting it as a failure. It
// returns once the task has stopped.
func (a Alloc) RestartTask(ctx context.Context, task string) error {
	return a.now.RestartTask(ctx, task, "", false)
}

// Restart restarts the running tasks or, with all, also those that have ended,
// in the order of their lifecycle.
func (a Alloc) Restart(ctx context.Context, all bool) error { return a.now.Restart(ctx, all) }

// StopTask stops a task until StartTask starts it. It returns once the task has
// stopped.
func (a Alloc) StopTask(ctx context.Context, task string) error { return a.now.StopTask(ctx, task) }

// StartTask starts a task that StopTask has stopped.
func (a Alloc) StartTask(task string) error { return a.now.StartTask(task) }

// Halted reports whether StopTask has stopped a task.
func (a Alloc) Halted(task string) (bool, error) { return a.now.Halted(task) }

// CheckSignal returns an error if Nomad knows no signal with that name.
func CheckSignal(name string) error {
	_, err := drivers.ParseSignal(name)
	return err
}

// Signal sends a signal, given by Nomad's name, to a running task.
func (a Alloc) Signal(ctx context.Context, task, signal string) error {
	return a.now.Signal(ctx, task, signal)
}

// Stats returns the current resource usage of the running tasks, each and in
// total, or of one task if task is not empty. It omits tasks whose driver has
// no statistics.
func (a Alloc) Stats(ctx context.Context, task string) *api.AllocResourceUsage {
	used := &api.AllocResourceUsage{Tasks: map[string]*api.TaskResourceUsage{}}
	var all []*api.ResourceUsage
	for name, u := range a.now.Stats(ctx, task) {
		used.Tasks[name] = &u.TaskResourceUsage
		used.Timestamp = max(used.Timestamp, u.Timestamp)
		all = append(all, u.ResourceUsage)
	}
	used.ResourceUsage = drivers.SumUsage(all...)
	return used
}
