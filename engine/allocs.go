package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/jobspec/taskenv"
)

// Alloc is a snapshot of an allocation. Its methods act on the allocation in
// its state at the time of the call.
type Alloc struct {
	event.Alloc
	runner.State
	Job      *api.Job // read only
	Dir      string   // the allocation's directory
	Replaces string   // ID of the allocation that this one replaces
	// Replacements of failed allocations led to this one, the latest one last.
	Replacements []restart.Replacement
	// Unwanted explains, in Nomad's words, why the allocation should stop. It
	// is empty while the allocation should run.
	Unwanted string
	// Final says that a user has stopped the allocation, and that no other one takes
	// its place.
	Final bool
	// Transition is how a user wanted the allocation to stop.
	Transition api.DesiredTransition
	// Deployment is the ID of the allocation's deployment, or empty.
	Deployment string
	Canary     bool // placed as a canary and not promoted
	// Ports are the group's ports. TaskPorts are those of tasks with the
	// deprecated network block in their resources.
	Ports     []taskenv.Port
	TaskPorts map[string][]taskenv.Port
	Granted   map[string]drivers.Resources // by task

	now *runner.Alloc
}

// allocs holds the running and the ended allocations of an engine.
type allocs struct {
	bus *event.Bus

	mu    sync.Mutex
	known map[string]*knownAlloc            // by ID
	ofJob map[string]map[string]*knownAlloc // the same ones by job and ID
}

func newAllocs(bus *event.Bus) *allocs {
	return &allocs{bus: bus, known: map[string]*knownAlloc{}, ofJob: map[string]map[string]*knownAlloc{}}
}

// knownAlloc is an allocation and the reason why it should stop. The mutex of
// allocs guards it.
type knownAlloc struct {
	*runner.Alloc
	unwanted   string
	final      bool
	transition api.DesiredTransition
}

func (a *knownAlloc) snapshot() Alloc {
	cfg := a.Config()
	granted := map[string]drivers.Resources{}
	for _, t := range cfg.Group.Tasks {
		granted[t.Name] = cfg.Granted(t)
	}
	return Alloc{
		Unwanted: a.unwanted, Final: a.final, Transition: a.transition, Deployment: cfg.Deployment, Canary: cfg.Canary,
		Alloc: *cfg.Alloc, State: a.State(), Job: cfg.Job, Dir: cfg.Dir, Replaces: cfg.Replaces, Replacements: cfg.Replacements,
		Ports: cfg.Ports, TaskPorts: cfg.TaskPorts, Granted: granted, now: a.Alloc,
	}
}

// find returns the allocation with an ID, or nil.
func (l *allocs) find(id string) *runner.Alloc {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.known[id]; ok {
		return a.Alloc
	}
	return nil
}

// hasFailed reports whether the allocation with an ID is known, and has failed.
func (l *allocs) hasFailed(id string) bool {
	a := l.find(id)
	return a != nil && a.State().Status == api.AllocClientStatusFailed
}

// track adds an allocation. Readers see it once an event has announced it.
func (l *allocs) track(a *runner.Alloc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of, added := a.Config().Alloc, &knownAlloc{Alloc: a}
	l.known[of.ID] = added
	if l.ofJob[of.Job] == nil {
		l.ofJob[of.Job] = map[string]*knownAlloc{}
	}
	l.ofJob[of.Job][of.ID] = added
}

// forget removes an allocation.
func (l *allocs) forget(a *event.Alloc) {
	l.mu.Lock()
	delete(l.known, a.ID)
	delete(l.ofJob[a.Job], a.ID)
	if len(l.ofJob[a.Job]) == 0 {
		delete(l.ofJob, a.Job)
	}
	l.mu.Unlock()
	l.bus.Publish(a, "", event.Forgotten{})
}

// forgetJob removes the allocations of a job.
func (l *allocs) forgetJob(id string) {
	l.mu.Lock()
	var gone []*event.Alloc
	for _, a := range l.ofJob[id] {
		gone = append(gone, a.Config().Alloc)
	}
	l.mu.Unlock()
	for _, a := range gone {
		l.forget(a)
	}
}

// Descriptions, in Nomad's words, of allocations that should stop.
const (
	notNeeded = "alloc not needed due to job update"
	migrated  = "alloc is being migrated"
	updated   = "alloc is being updated due to job update"
)

// unwant stops a known allocation, which may be final, see Alloc.
func (l *allocs) unwant(a *runner.Alloc, why string, final bool) {
	l.refuse(a, why, final, false)
	a.Stop()
}

// refuse records why an allocation should stop, and reports whether it did. Only
// the first reason is kept, and none that comes after the end: no event of the
// allocation would tell of it. Nomad does the same, except for canaries.
func (l *allocs) refuse(a *runner.Alloc, why string, final, canary bool) (done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.known[a.Config().Alloc.ID]
	if known == nil || known.unwanted != "" {
		return false
	}
	set := func() { known.unwanted, known.final, done = why, final, true }
	if canary {
		set()
	} else {
		a.UnlessEnded(set)
	}
	return done
}

// transit records how a user wants an allocation to stop.
func (l *allocs) transit(a *runner.Alloc, how api.DesiredTransition) {
	l.mu.Lock()
	if known := l.known[a.Config().Alloc.ID]; known != nil {
		known.transition = how
	}
	l.mu.Unlock()
	if how.ShouldIgnoreShutdownDelay() {
		a.SkipShutdownDelay()
	}
}

// mark records why an earlier engine stopped an allocation.
func (l *allocs) mark(a *runner.Alloc, why string, final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.known[a.Config().Alloc.ID]; known != nil {
		known.unwanted, known.final = why, final
	}
}

// snapshots returns the allocations that were announced.
func snapshots(known map[string]*knownAlloc, announced func(id string) bool) []Alloc {
	list := make([]Alloc, 0, len(known))
	for id, a := range known {
		if announced(id) {
			list = append(list, a.snapshot())
		}
	}
	slices.SortFunc(list, func(a, b Alloc) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Created.Compare(b.Created))
	})
	return list
}

// Reschedules reports whether the allocation was placed because the one with an ID
// had failed.
func (a Alloc) Reschedules(id string) bool {
	return slices.ContainsFunc(a.Replacements, func(r restart.Replacement) bool { return r.Alloc == id })
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
