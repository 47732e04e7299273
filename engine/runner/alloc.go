// Package runner runs one allocation: its tasks in the order of their
// lifecycle, each through its starts and ends.
//
// Who owns what: the goroutine of Alloc.Run owns the state of every task, the
// coordinator and the order of killing. Each task has a goroutine that takes
// it through hooks, driver and restarts, owns everything that concerns only
// the task's present run, and reports to the allocation what happened. The
// allocation never waits for a task; a task waits for the allocation only at
// its gate and when it is dead.
package runner

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// Config is what an allocation is made of. All of it is read only.
type Config struct {
	Alloc    *event.Alloc
	Index    int
	Job      *api.Job // canonicalised
	Group    *api.TaskGroup
	Dir      string // of the allocation; made by a hook
	Replaces string // ID of the failed allocation in whose place this one runs
	// Evaluation is the ID of the one because of which it was placed.
	Evaluation string
	Sticky     string // link to the allocation whose data this one goes on with, or empty
	// Deployment is the ID of the deployment that the allocation's health is
	// for; empty for none.
	Deployment string
	Canary     bool // of that deployment, and not promoted

	Drivers        map[string]drivers.Driver
	Hooks          hooks.Catalog
	Node           *taskenv.Node
	HostEnv        []string
	Ports          []taskenv.Port            // of the group
	TaskPorts      map[string][]taskenv.Port // of tasks, by their deprecated networks
	Cores          map[string]taskenv.Cores  // of tasks that ask for some
	MaxKillTimeout time.Duration

	Bus *event.Bus
	// Recorder publishes, and perhaps stores, what happens; nil: to the Bus.
	Recorder *store.Recorder
	// Retry tells when the allocation will be replaced if it failed at a time;
	// negative when it will not be.
	Retry func(failed time.Time) time.Duration
	// OnVerdict is told whether the allocation is healthy, once that is
	// decided. It must not wait.
	OnVerdict func(health.Verdict)
}

// Result is how an allocation ended.
type Result struct {
	Status string    // complete or failed
	Failed time.Time // when its last task ended
}

// Alloc is one allocation.
type Alloc struct {
	cfg   Config
	dir   *allocdir.Dir
	tasks []*task
	hooks []hooks.AllocHook

	// inbox carries what tasks and hooks report: functions that the owner
	// runs.
	inbox    chan func()
	over     chan struct{} // closed when nobody reads the inbox any more
	recorder *store.Recorder
	stop     chan struct{}
	stopOnce sync.Once
	hard     context.Context // done: no time for grace is left
	leaving  context.Context // done: tasks are left to themselves
	leave    context.CancelFunc
	updates  updates

	created time.Time
	network *drivers.NetworkIsolation // of the group; set before tasks start

	// Owned by Run, and written with mu held where State reads it.
	mu          sync.Mutex
	turn        turn
	machine     *lifecycle.Alloc
	gone        int // tasks that have ended or were left
	left        int
	stored      allocRecord // last
	restored    bool        // from what an earlier engine has stored
	failure     error       // why that failed
	ended       bool        // Run has returned, perhaps in an earlier engine
	forced      string      // description; the allocation has failed, whatever its tasks say
	status      string
	description string
	updating    bool // hooks take in an update
	revivals    revivals
	health      allocHealth
	modified    time.Time
	children    sync.WaitGroup
	looking     sync.WaitGroup // tasks that drivers may find again
}

// New returns an allocation and tells of its tasks. It does nothing until Run.
func New(cfg Config) *Alloc {
	a := &Alloc{
		cfg:     cfg,
		dir:     allocdir.At(cfg.Dir),
		inbox:   make(chan func()),
		over:    make(chan struct{}),
		updates: updates{ready: make(chan struct{}, 1)},
		stop:    make(chan struct{}),
		created: time.Now(),
	}
	if a.recorder = cfg.Recorder; a.recorder == nil {
		a.recorder = store.NewRecorder(cfg.Bus)
	}
	a.leaving, a.leave = context.WithCancel(context.Background())
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

// Config returns what the allocation is made of.
func (a *Alloc) Config() Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg
}

// Stop orders the allocation to end as `nomad alloc stop` would: kill signals,
// grace, then poststop tasks. It returns at once and may be called often.
func (a *Alloc) Stop() { a.stopOnce.Do(func() { close(a.stop) }) }

// Leave ends Run and leaves the tasks running as they are, for an engine to
// come. It returns at once.
func (a *Alloc) Leave() { a.leave() }

// Run runs the allocation and returns when every task has ended for good, or
// was left. When ctx ends, what still runs is killed without grace.
func (a *Alloc) Run(ctx context.Context) Result {
	a.hard = ctx
	defer func() { _ = a.dir.Close() }()
	switch {
	case a.ended:
		if a.health.verdict != health.Unknown {
			a.health.passOn() // once more: who was told may have died of it
		}
		return a.result()
	case a.failure != nil:
		return a.failRestored()
	case a.restored:
		a.proceed()
	default:
		a.publishStatus()
		for _, t := range a.tasks {
			t.apply("", event.Received())
		}
		a.health.begin()
	}
	prerun := a.hooks // also when tasks run already
	if a.restored && (a.stored.Status == api.AllocClientStatusFailed || a.stored.Status == api.AllocClientStatusComplete) {
		prerun = nil
	}
	a.commit()
	a.children.Go(func() { a.prerun(prerun) })
	defer a.health.end()

	stop, hard := a.stop, ctx.Done()
	deadline, impatient := overdueTimer(overdueAt(a.cfg.Group, a.created)), time.NewTimer(giveUpTime)
	defer deadline.Stop()
	defer impatient.Stop()
	impatient.Stop()
	givenUp := false
	for a.gone < len(a.tasks) {
		select {
		case f := <-a.inbox:
			f()
		case <-a.health.tick():
		case <-stop:
			stop = nil
			a.happens(lifecycle.Input{Kind: lifecycle.Stop})
		case <-deadline.C:
			a.happens(lifecycle.Input{Kind: lifecycle.Overdue})
		case <-a.updates.ready:
			a.update(deadline)
		case <-hard:
			hard = nil
			impatient.Reset(giveUpTime)
			a.health.end()
			a.happens(lifecycle.Input{Kind: lifecycle.KillAtOnce})
		case <-impatient.C:
			givenUp = a.giveUp()
		}
		a.publishStatus()
		a.health.check()
		a.commit()
	}
	close(a.over)
	if !givenUp { // else it has been waited for
		a.finish("remaining", a.children.Wait)
	}
	if a.restored { // no task will be looked for any more
		for _, t := range a.tasks {
			t.looked()
		}
	}
	if a.left > 0 {
		a.finish("shutdown", func() {
			for h := range phases[hooks.AllocShutdown](a.hooks) {
				h.Shutdown()
			}
		})
	} else {
		a.finish("post-run", a.postrun)
		a.ended = true
		a.commit()
	}
	return a.result()
}

// Over reports whether a restored allocation had ended: Run does nothing then.
func (a *Alloc) Over() bool { return a.ended }

func (a *Alloc) result() Result {
	return Result{Status: a.status, Failed: finishedAt(a.tasks, a.modified)}
}

// Fail ends the allocation, instead of Run, as one that cannot run.
func (a *Alloc) Fail(why string) Result {
	a.forced = why
	a.publishStatus()
	a.ended = true
	close(a.over)
	a.commit()
	return a.result()
}

// post hands a report to the owner, or to nobody when the allocation is over.
// What is to be stored is stored when it returns.
func (a *Alloc) post(f func()) {
	if a.recorder.Durable() {
		a.ask(f)
		return
	}
	select {
	case a.inbox <- f:
	case <-a.over:
	}
}

// finishedAt is when the last task ended; if none has run, when the allocation
// last changed.
func finishedAt(tasks []*task, modified time.Time) (last time.Time) {
	for _, t := range tasks {
		if t.state.FinishedAt.After(last) {
			last = t.state.FinishedAt
		}
	}
	if last.IsZero() {
		last = modified
	}
	return last
}

// publishStatus tells of the allocation's status if it has changed.
func (a *Alloc) publishStatus() {
	status, description := a.machine.Status()
	if a.forced != "" {
		status, description = api.AllocClientStatusFailed, a.forced
	}
	if status == a.status && description == a.description {
		return
	}
	a.mu.Lock()
	a.status, a.description, a.modified = status, description, time.Now()
	a.mu.Unlock()
	body := event.AllocStatus{Status: status, Description: description, Replaces: a.cfg.Replaces, Retry: -1, Evaluation: a.cfg.Evaluation}
	if status == api.AllocClientStatusFailed && a.cfg.Retry != nil {
		body.Retry = a.cfg.Retry(finishedAt(a.tasks, a.modified))
	}
	a.publish("", body)
}
