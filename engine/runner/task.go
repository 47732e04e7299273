package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/hooks"
)

// task is one task of an allocation over all its starts.
type task struct {
	alloc  *Alloc
	index  int // in the group
	name   string
	job    atomic.Pointer[jobSpec]
	stage  lifecycle.Stage
	policy restart.Policy // of the version that the allocation began with
	driver drivers.Driver

	// killed is done when the task must end for good; cancel makes it so.
	killed context.Context
	cancel context.CancelFunc
	gate   chan struct{} // a token for one start

	inlet inlet
	env   taskEnv
	// revive takes a task that is parked the reason why it is started again.
	revive chan string

	// Owned by the allocation.
	state    api.TaskState // written with the allocation's mu held
	exitCode *int
	handle   string // the driver's ID while the task runs
	// overLimit is the driver's ID of the last start that had too much memory.
	overLimit string
	reached   progress // of the run
	touched   bool     // in this turn
	failed    bool     // by a hook, which has cancelled it
	gone      bool     // nothing more is to come of it
	told      []string // by hooks since anything else happened
	repeats   []string // of told, from an earlier engine, not to be told again

	// Owned by run.
	hooks      taskHooks
	recovering bool      // the task may run since an earlier engine
	lookedFor  sync.Once // the driver was asked for it
	output     hooks.Output
	progress   progress
	id         string // of the driver's task
	started    *drivers.TaskHandle
	network    *drivers.Network
}

func newTask(a *Alloc, index int, spec *api.Task) *task {
	t := &task{
		alloc:    a,
		index:    index,
		name:     spec.Name,
		stage:    lifecycle.StageOf(spec.Lifecycle),
		policy:   restart.PolicyOf(*a.cfg.Job.Type, spec),
		driver:   a.cfg.Drivers[spec.Driver],
		gate:     make(chan struct{}, 1),
		inlet:    inlet{requests: make(chan *restartRequest, 1)},
		revive:   make(chan string, 1),
		state:    api.TaskState{State: pending},
		progress: progress{Tracker: restart.Tracker{Start: time.Now()}},
	}
	t.job.Store(&jobSpec{a.cfg.Job, a.cfg.Group, spec})
	t.killed, t.cancel = context.WithCancel(context.Background())
	t.env.builder = newEnv(t)
	t.hooks = newTaskHooks(t)
	return t
}

// jobSpec is the part of a version of the job that concerns a task.
type jobSpec struct {
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task
}

// spec is the task as the newest version of the job has it.
func (t *task) spec() *api.Task { return t.job.Load().task }

// apply adds an event to the task and, unless state is empty, changes its
// state. For the allocation's goroutine.
func (t *task) apply(state string, e *api.TaskEvent) {
	before, after := t.state, advance(t.state, state, e, time.Now())
	t.told, t.repeats = nil, nil
	t.touch()
	t.alloc.mu.Lock()
	t.state, t.alloc.modified = after, time.Now()
	t.alloc.mu.Unlock()
	if e != nil {
		t.publish(event.TaskEvent{TaskEvent: e})
	}
	moved := before.State != after.State || before.Failed != after.Failed
	if moved || before.Restarts != after.Restarts {
		t.publish(event.TaskState{
			State: after.State, Failed: after.Failed, Restarts: after.Restarts, ExitCode: t.exitCode,
		})
	}
	if moved {
		t.alloc.happens(lifecycle.Input{
			Kind: lifecycle.Changed, Task: t.index, Phase: phase(after), Failed: after.Failed,
		})
	}
}

func (t *task) publish(body event.Body) { t.alloc.publish(t.name, body) }

// report tells the allocation of an event and a change of state.
func (t *task) report(state string, e *api.TaskEvent) {
	t.alloc.post(func() { t.apply(state, e) })
}

// emit adds an event of a hook. What a hook has told before an engine died, and
// tells again as the next engine calls it anew, is not told twice.
func (t *task) emit(e *api.TaskEvent) {
	t.alloc.post(func() {
		text := e.Type + ": " + e.DisplayMessage
		told, repeats := t.told, t.repeats
		if i := slices.Index(repeats, text); i >= 0 {
			t.told, t.repeats = append(told, text), slices.Delete(repeats, i, i+1)
			return
		}
		t.apply("", e)
		if t.alloc.recorder.Durable() {
			told = append(told, text)
			t.told, t.repeats = told[max(0, len(told)-keptEvents):], repeats
		}
	})
}

// killTimeout is how long the task may take to end once it was told to.
func (t *task) killTimeout() time.Duration {
	return min(*t.spec().KillTimeout, t.alloc.cfg.MaxKillTimeout)
}
