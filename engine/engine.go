// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and publishes events. It owns everything that lives during
// a run; callers send it jobs and orders, and follow the events.
package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/health"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/port"
	"taskrun/engine/registry"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// Config configures an engine.
type Config struct {
	DataDir string                    // directory of the runs; see allocdir
	Drivers map[string]drivers.Driver // by name
	Hooks   hooks.Catalog
	Node    *taskenv.Node // for ${node.…} and ${attr.…}
	HostEnv []string      // "K=V", inherited by tasks
	// Services is where hooks register the services of tasks; nil if none do.
	Services *service.Catalog
	// Variables holds the Nomad variables that tasks may read; nil if there are
	// none.
	Variables *variable.Store
	// PortDir is where the engines of this user record the ports they have
	// assigned, so that each can avoid the others'. If empty, they do not.
	PortDir string
	// Ports are the ports that jobs may have.
	Ports port.Rules
	// LogicalPorts says that nothing listens on assigned ports, so other
	// programs may use them, too.
	LogicalPorts bool
	// MaxKillTimeout caps kill_timeout; 0 means 30s, Nomad's default of
	// max_kill_timeout.
	MaxKillTimeout time.Duration
	// Chance gives IDs and random numbers; its zero value gives random ones. With
	// a seed it is for one engine only, which must not be recovered.
	Chance chance.Source
	// MaxAllocs is how many allocations a job may have; 0 means
	// validate.DefaultMaxAllocs.
	MaxAllocs int
	// Durable makes the engine store everything that a later engine needs to
	// continue its runs; see Recover. Without it, run directories contain only
	// what tasks write.
	Durable bool
	// Resident makes an engine that runs any number of jobs until it is told to
	// Leave or Stop: it takes new jobs at any time (see Register), keeps those
	// that have ended, and obeys namespaces. It is Durable, and needs a StateDir.
	Resident bool
	// Patient makes jobs wait for another version when everything of them has ended,
	// until they are stopped.
	Patient bool
	// StateDir is where the registry is kept; empty: in memory. The caller must
	// lock it: only one engine may use a directory at a time.
	StateDir string
	// NoHistory: nothing is written of what happens in the runs. It has no effect if
	// they are durable.
	NoHistory bool
	// OnRun, if set, is called with the directory of each run before anything
	// is written to it. It lets the keeper know what to clean up if this
	// program is killed.
	OnRun func(dir string)
}

// defaultMaxKillTimeout is Nomad's default of the client's max_kill_timeout.
const defaultMaxKillTimeout = 30 * time.Second

// repeats reports whether a run with the same jobs and the same seed would be the
// same: nothing of it depends on the machine.
func (c *Config) repeats() bool { return c.Chance.Seeded() && c.LogicalPorts }

// checkSize refuses a job with more allocations than a job may have, or with more
// than this process can run besides the others. It comes before anything that is
// done for each allocation of a job. now is the version that the job replaces, or
// nil.
func (e *Engine) checkSize(job, now *api.Job) error {
	if found := validate.Allocations(job, e.cfg.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return e.files.check(job, now)
}

// Engine runs jobs. Its methods are safe for concurrent use.
type Engine struct {
	cfg   Config
	bus   event.Bus
	state *State
	ports *port.Claims
	cores *coreClaims
	files openFiles

	stopping context.Context // done: every job stops
	stop     context.CancelFunc
	hard     context.Context // done: every job is killed
	kill     context.CancelFunc
	leaving  context.Context // done: every task is left running
	leave    context.CancelFunc
	settled  context.Context // done: nothing new starts, for any of these reasons
	settle   context.CancelFunc

	watch  *driverWatch
	notice func(format string, args ...any) // publishes a notice

	onRecorder func(*store.Recorder) // for tests that interrupt the recorder

	allocs *allocs
	runs   jobRuns

	registry *registry.Registry
	unread   error // why the registry cannot be read

	mu        sync.Mutex
	submitted bool
	closed    bool
}

// jobRuns holds the runs of the submitted, registered or recovered jobs.
type jobRuns struct {
	going sync.WaitGroup
	done  chan struct{} // closed when all runs have ended
	// finding counts the runs and allocations whose tasks drivers may still
	// find again.
	finding sync.WaitGroup

	mu    sync.Mutex
	list  []*jobRun          // in the order of their registration, without children
	byKey map[string]*jobRun // with children
	// opening holds the keys of jobs that are being registered for the first
	// time. The channels are closed when that is over.
	opening map[string]chan struct{}
	purged  []*jobRun // not in list any more, but not over yet
	over    bool      // nothing new may start
}

// jobRun is one run of a job. It has a slot for each group and index, in which
// allocations run one after another.
type jobRun struct {
	engine   *Engine
	key      string   // of the job
	job      *api.Job // the submitted version, for everything that updates cannot change
	newest   atomic.Pointer[api.Job]
	dir      *allocdir.Run
	ports    jobPorts
	recorder *store.Recorder
	hostEnv  []string
	woken    chan struct{} // signals a change; capacity 1
	ready    chan struct{} // closed when the state left by an earlier engine is known

	stopping context.Context // done: the job stops
	settled  context.Context // done: nothing new starts
	cancel   []context.CancelFunc

	children  children
	above     *jobRun        // the parent of a child, in a resident engine
	lives     sync.WaitGroup // running slots
	placing   sync.WaitGroup // the first turn, and the first placement of each slot that it begins
	purged    atomic.Bool    // forget the job once it has ended; set with mu held
	forgotten atomic.Bool    // the job was purged and has ended

	mu          sync.Mutex
	versions    versions
	deployments deployments // of these versions
	scalings    map[string][]api.ScalingEvent
	priority    int                           // of the evaluation with which the job begins; 0: that of the job
	introduced  Registered                    // the effect of the first version, without its plan
	submissions map[uint64]*api.JobSubmission // by version, unless they are stored
	slots       []*slot
	living      int  // number of running slots
	changed     bool // the slots have to be checked
	waits       bool // a slot is waiting for its turn
	stopped     bool // by an order for this job
	ended       bool // the job can start nothing more
	turned      bool // the first turn is over
	idle        bool // everything has ended, and another version is awaited
}

// children holds the jobs that run on behalf of a periodic or parameterized
// job.
type children struct {
	parent      *jobRun
	runs        sync.WaitGroup
	dispatching sync.Mutex // serializes dispatches
	orphans     []*api.Job // left by an earlier engine

	live atomic.Int32 // number of running children

	mu    sync.Mutex         // may be locked while a job is locked, not the other way round
	known map[string]*jobRun // by key
	dead  []*jobRun          // in the order of their deaths; some may live again
}

// slot runs the allocations of a group and an index, one after another. A
// canary has a slot of its own, next to that of the allocation it may replace.
//
// rollOut decides what a slot should run, and a goroutine of the slot carries
// it out.
type slot struct {
	*jobRun
	group string
	index int
	lane  int // distinguishes slots with the same index; normally 0

	restored  *runner.Alloc   // last allocation of an earlier engine; nil for none
	ended     *runner.Alloc   // the previous allocation, until the next one is placed
	claimed   []int           // ports of the present allocation
	kept      []*runner.Alloc // allocations that have ended, like the first ones of Placed
	forgotten store.Change    // records to delete at the next placement
	wake      chan struct{}   // signals a change of what is wanted; capacity 1
	onVerdict func(alloc string, v health.Verdict)

	// Guarded by the job's mu.
	slotRecord
	living  bool          // the slot's goroutine is running
	files   int           // descriptors that are counted for it
	present *runner.Alloc // nil between two allocations
	again   bool          // place another allocation, however this one ends
}
