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

// maxOutput is how much of a task's output is kept, in bytes of each stream.
const maxOutput = 1 << 20

// witness keeps what the events do not tell of tasks. It is a hook of each of them.
type witness struct {
	mu     sync.Mutex
	allocs map[string]*event.Alloc // by ID
	envs   map[jobtest.TaskKey]*taskenv.Env
}

func newWitness() *witness {
	return &witness{allocs: map[string]*event.Alloc{}, envs: map[jobtest.TaskKey]*taskenv.Env{}}
}

// alloc returns an allocation whose tasks have begun.
func (w *witness) alloc(id string) *event.Alloc {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allocs[id]
}

// env returns the environment of the latest start of a task; nil if there was none.
func (w *witness) env(key jobtest.TaskKey) *taskenv.Env {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.envs[key]
}

// environments returns those of all tasks that have started.
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

// Poststart notes the environment of the task.
func (w *taskWitness) Poststart(_ context.Context, req *hooks.PoststartRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.envs[w.key] = req.Env
	return nil
}
