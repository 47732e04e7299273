package play

import (
	"context"
	"maps"
	"sync"

	"taskrun/cmd/jobtest"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// witness keeps what the events do not tell of tasks. It is a hook of each of them.
type witness struct {
	mu      sync.Mutex
	allocs  map[string]*event.Alloc          // by ID
	envs    map[jobtest.TaskKey]*taskenv.Env // of the latest starts
	started map[jobtest.TaskKey]bool         // the hooks after the start were called
	changed chan struct{}                    // closed when a task has started
}

func newWitness() *witness {
	return &witness{
		allocs: map[string]*event.Alloc{}, envs: map[jobtest.TaskKey]*taskenv.Env{}, started: map[jobtest.TaskKey]bool{},
		changed: make(chan struct{}),
	}
}

// alloc returns an allocation whose tasks have begun.
func (w *witness) alloc(id string) *event.Alloc {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allocs[id]
}

// env returns the environment of a task, as soon as all of it is known: a task runs
// before the hooks after its start have been called.
func (w *witness) env(ctx context.Context, key jobtest.TaskKey) (*taskenv.Env, error) {
	for {
		w.mu.Lock()
		env, started, changed := w.envs[key], w.started[key], w.changed
		w.mu.Unlock()
		if started {
			return env, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// environments returns those of all tasks.
func (w *witness) environments() map[jobtest.TaskKey]*taskenv.Env {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.envs)
}

// Task is a [hooks.TaskFactory].
func (w *witness) Task(info hooks.Task) hooks.TaskHook {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.allocs[info.Alloc.ID] = info.Alloc
	return &taskWitness{w, jobtest.TaskKey{Alloc: info.Alloc.ID, Task: info.Task.Name}}
}

type taskWitness struct {
	*witness
	key jobtest.TaskKey
}

// Name implements [hooks.TaskHook].
func (w *taskWitness) Name() string { return "jobtest" }

// Prestart records the environment of the task, without the variables that its
// driver adds.
func (w *taskWitness) Prestart(_ context.Context, req *hooks.PrestartRequest, _ *hooks.PrestartResponse) error {
	w.note(req.Env, false)
	return nil
}

// Poststart notes all of it.
func (w *taskWitness) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	w.note(req.Env, true)
	return nil
}

func (w *taskWitness) note(env *taskenv.Env, started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.envs[w.key], w.started[w.key] = env, started
	if started {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}
