// Package runner runs one allocation: its tasks in the order of their
// lifecycle, each through its starts and ends.
//
// The goroutine of Alloc.Run owns the state of every task, the coordinator and
// the order of killing. Each task has a goroutine that calls hooks and driver
// and handles restarts. It owns everything that concerns only the task's
// current run, and reports events to the allocation. The allocation never waits
// for a task. A task waits for the allocation only at its gate and when it is
// dead.
package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/hooks"
)

// Update is a new version of a job that leaves the tasks of an allocation
// running and changes their settings.
type Update struct {
	Job   *api.Job // canonicalized, read only
	Group *api.TaskGroup
	// Deployment is as in Config. If it changes, the allocation has to become
	// healthy again.
	Deployment string
	Canary     bool
}

// Alloc is one allocation.
type Alloc struct {
	cfg   Config
	dir   *allocdir.Dir
	tasks taskList
	hooks allocHooks

	inbox    inbox
	recorder *store.Recorder
	stop     chan struct{}
	stopOnce sync.Once
	prompt   context.Context // done: no shutdown_delay is waited for
	noDelay  context.CancelFunc
	hard     context.Context // done: no time left for a graceful end
	leaving  context.Context // done: tasks are left running
	leave    context.CancelFunc
	updates  updates

	created time.Time
	network *drivers.NetworkIsolation // network of the group; set before tasks start

	// Owned by Run. Fields that State reads are written with mu held.
	mu          sync.Mutex
	turn        turn
	machine     *lifecycle.Alloc
	gone        int // number of tasks that have ended or were left
	left        int
	stored      allocRecord // the last record stored
	restored    bool        // restored from the records of an earlier engine
	failure     error       // why that failed
	ended       bool        // Run has returned, perhaps in an earlier engine
	forced      string      // description of a failure that the tasks do not show
	status      string
	description string
	updating    bool // hooks are applying an update
	revivals    revivals
	halted      int // number of tasks that a user has stopped
	health      allocHealth
	modified    time.Time
	children    sync.WaitGroup
}

// allocRecord is the stored record of an allocation, besides its tasks.
type allocRecord struct {
	Created     time.Time        `json:"created"`
	Status      string           `json:"status"`
	Description string           `json:"description"`
	Machine     lifecycle.Memory `json:"machine"`
	Health      health.Verdict   `json:"health,omitempty"`
	Deployment  string           `json:"deployment,omitempty"` // deployment that the verdict is for
	Watching    bool             `json:"watching,omitempty"`
	Watch       health.Watch     `json:"watch,omitzero"`
	Forced      string           `json:"forced,omitempty"`
	Over        bool             `json:"over,omitempty"` // Run has returned
}

// revivals counts the dead tasks that will start again but have not reported it
// yet.
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

// remove counts a dead task that has reported its new start, or will not start.
func (r *revivals) remove() {
	if r.count--; r.count == 0 {
		close(r.over)
	}
}

// updates holds the newest version of the job that is not applied yet.
type updates struct {
	ready  chan struct{} // capacity 1
	newest atomic.Pointer[Update]
}

// look makes the owner look for a version.
func (u *updates) look() {
	select {
	case u.ready <- struct{}{}:
	default:
	}
}

// allocHealth is the owner's view of the allocation's health.
type allocHealth struct {
	alloc     *Alloc
	watch     *health.Watch  // nil: the health is not watched
	timer     *time.Timer    // when to check the watch if nothing changes before
	verdict   health.Verdict // written with the allocation's mu held
	unchecked bool           // a check of a service is not passing
}

// turn collects the consequences of one input to the allocation. They are
// committed together, before anything is carried out, so that everything the
// allocation does was published, and stored, first.
type turn struct {
	change  store.Change
	orders  []lifecycle.Effect
	verdict bool    // a verdict on the allocation's health to pass on
	tasks   []*task // tasks to store
}

// allocHooks calls the hooks of an allocation.
type allocHooks struct {
	alloc *Alloc
	list  []hooks.AllocHook
}

// taskList holds the tasks of an allocation, in the order of its group.
type taskList []*task

// named returns the task with a name, or nil.
func (l taskList) named(name string) *task {
	if i := slices.IndexFunc(l, func(t *task) bool { return t.name == name }); i >= 0 {
		return l[i]
	}
	return nil
}

// looked records that drivers have ended their search for tasks.
func (l taskList) looked() {
	for _, t := range l {
		t.looked()
	}
}

// Config returns the allocation's configuration.
func (a *Alloc) Config() Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg
}

// Stop stops the allocation like `nomad alloc stop`: kill signals, grace
// periods, then poststop tasks. It does not wait, and may be called more than
// once.
func (a *Alloc) Stop() { a.stopOnce.Do(func() { close(a.stop) }) }

// UnlessEnded calls f if the allocation is neither complete nor failed, and lets it
// become so only after f has returned.
func (a *Alloc) UnlessEnded(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status != api.AllocClientStatusComplete && a.status != api.AllocClientStatusFailed {
		f()
	}
}

// SkipShutdownDelay makes the allocation wait for no shutdown_delay when it
// stops, neither its group's nor those of its tasks.
func (a *Alloc) SkipShutdownDelay() { a.noDelay() }

// Leave ends Run and leaves the tasks running for a later engine. It does not
// wait.
func (a *Alloc) Leave() { a.leave() }

// Over reports whether a restored allocation had already ended. Run then does
// nothing.
func (a *Alloc) Over() bool { return a.ended }

// Found waits until drivers have found the tasks of a restored allocation, or
// have failed to.
func (a *Alloc) Found() {
	for _, t := range a.tasks {
		<-t.found.Done()
	}
}

// State returns a copy of the allocation's state. It is safe to call at any
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

// task is a task of an allocation, through all its starts.
type task struct {
	alloc  *Alloc
	index  int // index in the group
	name   string
	job    atomic.Pointer[jobSpec]
	stage  lifecycle.Stage
	driver drivers.Driver

	// killed is done when the task must end for good; cancel cancels it.
	killed context.Context
	cancel context.CancelFunc
	gate   chan struct{} // receives a token for each start
	// held is true from the order to stop the task until the order to start it.
	held atomic.Bool

	inlet inlet
	// revive receives the reason for starting a parked task again.
	revive chan string
	// hurry ends the delay of a restart; capacity 1.
	hurry chan struct{}
	// found is done when there is no task of an earlier engine, or the driver has
	// found it, or has failed to. If it has found it, the allocation has its handle by then.
	found  context.Context
	looked context.CancelFunc
	run    *taskRun

	// Owned by the allocation.
	state    api.TaskState // written with the allocation's mu held
	exitCode *int
	handle   string // the driver's ID while the task is running
	// overLimit is the driver's ID of the last start that exceeded its memory.
	overLimit string
	reached   progress // progress of the task's run
	touched   bool     // changed in this turn
	halted    bool     // held, in the record
	shown     bool     // published as halted
	failed    bool     // failed by a hook, which has canceled it
	gone      bool     // the task reports nothing more
	told      []string // events of hooks since the last other event
	repeats   []string // events of told that an earlier engine has recorded and that hooks may repeat
}

// taskRun is the goroutine of a task, with everything that it owns. It takes the
// task through its starts and ends, and reports them to the allocation.
type taskRun struct {
	*task
	policy     restart.Policy // from the version that the allocation started with
	hooks      taskHooks
	env        taskEnv
	recovering bool // an earlier engine may have started the task
	left       bool // see isLeft
	output     hooks.Output
	progress   progress
	id         string // ID of the driver's task
	started    *drivers.TaskHandle
	network    *drivers.Network
}

// jobSpec is the part of a job's version that concerns a task.
type jobSpec struct {
	job   *api.Job
	group *api.TaskGroup
	task  *api.Task
}

// taskHooks calls the hooks of a task and keeps what they return.
type taskHooks struct {
	task       *taskRun
	list       []*taskHook
	vault      string            // token
	identities map[string]string // tokens, by name
}

// spec returns the task as defined in the newest version of the job.
func (t *task) spec() *api.Task { return t.job.Load().task }

// killTimeout is how long the task may take to end after its kill signal.
func (t *task) killTimeout() time.Duration {
	return min(*t.spec().KillTimeout, t.alloc.cfg.MaxKillTimeout)
}

func (t *task) granted() drivers.Resources {
	cfg := t.alloc.Config()
	return cfg.Granted(t.spec())
}

func (t *task) isKilled() bool { return t.killed.Err() != nil }

// isLeft reports whether the engine leaves the task running, which it does not if
// the task was killed before. Only the task's goroutine may call it. Once true, it
// stays true: this engine no longer watches the task, and the next engine carries
// out a later kill.
func (t *taskRun) isLeft() bool {
	t.left = t.left || t.alloc.leaving.Err() != nil && !t.isKilled()
	return t.left
}

// leaves records that the task reports nothing more.
func (t *task) leaves() {
	t.gone = true
	t.alloc.gone++
}
