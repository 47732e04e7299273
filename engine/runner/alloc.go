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
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// Config is what an allocation is made of. All of it is read only.
type Config struct {
	Alloc    *event.Alloc
	Index    int
	Job      *api.Job // canonicalized
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

// Update is a new version of a job that leaves its allocation running: the
// same tasks, with other settings around them.
type Update struct {
	Job   *api.Job // canonicalized, read only
	Group *api.TaskGroup
	// Deployment is what Config has; with another one than before the
	// allocation has to show again that it is healthy.
	Deployment string
	Canary     bool
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
	over     chan struct{} // closed when the inbox is no longer read
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

// allocRecord is what is stored of an allocation, besides its tasks.
type allocRecord struct {
	Created     time.Time        `json:"created"`
	Status      string           `json:"status"`
	Description string           `json:"description"`
	Machine     lifecycle.Memory `json:"machine"`
	Health      health.Verdict   `json:"health,omitempty"`
	Deployment  string           `json:"deployment,omitempty"` // that it is for
	Watching    bool             `json:"watching,omitempty"`
	Watch       health.Watch     `json:"watch,omitzero"`
	Forced      string           `json:"forced,omitempty"`
	Over        bool             `json:"over,omitempty"` // Run has returned
}

// revivals are the dead tasks that are to start again and have not yet told.
type revivals struct {
	count int
	over  chan struct{} // closed when count is zero again
}

func (r *revivals) add() {
	if r.count == 0 {
		r.over = make(chan struct{})
	}
	r.count++
}

// remove takes in that a dead task has told of its new start, or will not start.
func (r *revivals) remove() {
	if r.count--; r.count == 0 {
		close(r.over)
	}
}

// updates holds the newest version of the job that was not taken in yet.
type updates struct {
	ready chan struct{} // of capacity 1

	mu     sync.Mutex
	newest *Update
}

// allocHealth is the owner's view of the allocation's health.
type allocHealth struct {
	alloc     *Alloc
	watch     *health.Watch  // nil: it is not watched
	timer     *time.Timer    // when the watch wants to be looked at, without a change
	verdict   health.Verdict // written with the allocation's mu held
	unchecked bool           // a check of a service does not pass
}

// turn is all that comes of one thing that happened to the allocation. It is
// committed at once, and only then carried out: whatever the allocation does,
// it has told, and stored, why.
type turn struct {
	change  store.Change
	orders  []lifecycle.Effect
	verdict bool            // on the allocation's health, to be passed on
	answers []chan struct{} // closed when it is over
	tasks   []*task         // that are to be stored
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

// Over reports whether a restored allocation had ended: Run does nothing then.
func (a *Alloc) Over() bool { return a.ended }

// Found returns when drivers have found the tasks of a restored allocation
// again, as far as they will.
func (a *Alloc) Found() { a.looking.Wait() }

func (a *Alloc) task(name string) *task {
	for _, t := range a.tasks {
		if t.name == name {
			return t
		}
	}
	return nil
}

// State returns a copy of the allocation's state. It may be called at any
// time.
func (a *Alloc) State() State {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := State{
		Status: a.status, Description: a.description, Tasks: make(map[string]*api.TaskState, len(a.tasks)),
		Created: a.created, Modified: a.modified,
	}
	if v := a.health.verdict; v != health.Unknown {
		s.Healthy = new(v == health.Healthy)
	}
	for _, t := range a.tasks {
		state := t.state
		s.Tasks[t.name] = &state
	}
	return s
}

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
	left       bool      // see isLeft
	lookedFor  sync.Once // the driver was asked for it
	output     hooks.Output
	progress   progress
	id         string // of the driver's task
	started    *drivers.TaskHandle
	network    *drivers.Network
}

// jobSpec is the part of a version of the job that concerns a task.
type jobSpec struct {
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task
}

// taskHooks calls the hooks of a task and keeps what they have given it.
type taskHooks struct {
	task       *task
	list       []*taskHook
	vault      string            // token
	identities map[string]string // tokens, by name
}

// spec is the task as the newest version of the job has it.
func (t *task) spec() *api.Task { return t.job.Load().task }

// killTimeout is how long the task may take to end once it was told to.
func (t *task) killTimeout() time.Duration {
	return min(*t.spec().KillTimeout, t.alloc.cfg.MaxKillTimeout)
}

func (t *task) isKilled() bool { return t.killed.Err() != nil }

// isLeft reports whether the task is to be left to itself, which a task that is
// killed before is not. Only run may ask, and the answer stays true: a kill that
// comes later is for the next engine, as nothing here watches the task any more.
func (t *task) isLeft() bool {
	t.left = t.left || t.alloc.leaving.Err() != nil && !t.isKilled()
	return t.left
}

func (t *task) looked() { t.lookedFor.Do(t.alloc.looking.Done) }

// leaves takes in that nothing more is to come of the task.
func (t *task) leaves() {
	t.gone = true
	t.alloc.gone++
}
