package runner

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/engine/store"
)

// New returns an allocation, which does nothing before Run.
func New(cfg Config) *Alloc {
	a := newAlloc(cfg)
	a.tasks.looked()
	return a
}

// newAlloc returns an allocation whose tasks an earlier engine may have started.
func newAlloc(cfg Config) *Alloc {
	a := &Alloc{
		cfg:     cfg,
		dir:     allocdir.At(cfg.Dir),
		stop:    make(chan struct{}),
		created: time.Now(),
	}
	if a.recorder = cfg.Recorder; a.recorder == nil {
		a.recorder = store.NewRecorder(cfg.Bus)
	}
	a.inbox = inbox{reports: make(chan func()), over: make(chan struct{}), durable: a.recorder.Durable()}
	a.updates.ready = make(chan struct{}, 1)
	a.leaving, a.leave = context.WithCancel(context.Background())
	a.prompt, a.noDelay = context.WithCancel(context.Background())
	members := make([]lifecycle.Task, len(cfg.Group.Tasks))
	for i, spec := range cfg.Group.Tasks {
		t := newTask(a, i, spec)
		a.tasks = append(a.tasks, t)
		members[i] = lifecycle.Task{Name: spec.Name, Stage: t.stage, Leader: spec.Leader}
	}
	a.machine = lifecycle.NewAlloc(members)
	a.health.alloc = a
	a.hooks = newAllocHooks(a)
	return a
}

func newTask(a *Alloc, index int, spec *api.Task) *task {
	t := &task{
		alloc:  a,
		index:  index,
		name:   spec.Name,
		stage:  lifecycle.StageOf(spec.Lifecycle),
		driver: a.cfg.Drivers[spec.Driver],
		gate:   make(chan struct{}, 1),
		inlet:  inlet{requests: make(chan *restartRequest, 1)},
		hurry:  make(chan struct{}, 1),
		revive: make(chan string, 1),
		state:  api.TaskState{State: pending},
	}
	t.job.Store(&jobSpec{a.cfg.Job, a.cfg.Group, spec})
	t.found, t.looked = context.WithCancel(context.Background())
	t.killed, t.cancel = context.WithCancel(context.Background())
	t.run = &taskRun{
		task:     t,
		policy:   restart.PolicyOf(*a.cfg.Job.Type, spec),
		progress: progress{Tracker: restart.Tracker{Start: time.Now()}},
	}
	t.run.env.builder = a.cfg.taskEnv(spec, t.driver.Capabilities().FSIsolation)
	t.run.hooks = newTaskHooks(t.run)
	return t
}
