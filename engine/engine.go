// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and publishes what happens. It is the façade behind
// which everything that lives during a run has its owner: its caller sends it
// jobs and orders, and follows the rest as events.
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
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// Config is what an engine needs to know of its surroundings.
type Config struct {
	DataDir string                    // where runs are kept; see allocdir
	Drivers map[string]drivers.Driver // by name
	Hooks   hooks.Catalog
	Node    *taskenv.Node // what ${node.…} and ${attr.…} read
	HostEnv []string      // "K=V", what tasks inherit
	// Services is where the hooks register what tasks offer; nil if none does.
	Services *service.Catalog
	// Variables is where Nomad's variables are that tasks may read; nil if there
	// are none.
	Variables *variable.Store
	// PortDir is where engines of this user tell each other which ports they
	// gave out. Empty: they do not.
	PortDir string
	// LogicalPorts: the ports that are given out are never listened on, so other
	// programs may use them as well.
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
	// Durable: what a later engine needs to take up the runs is stored as they
	// go, see Recover. Without it the directories hold only what tasks made.
	Durable bool
	// NoHistory: nothing is written of what happens in the runs. It has no effect if
	// they are durable.
	NoHistory bool
	// OnRun, if set, is called with the directory of each run before anything
	// is put into it: the keeper, which cleans up when this program is killed,
	// must know.
	OnRun func(dir string)
}

// defaultMaxKillTimeout is Nomad's default of the client's max_kill_timeout.
const defaultMaxKillTimeout = 30 * time.Second

// repeats reports whether a run with the same jobs and the same seed would be the
// same: nothing of it depends on the machine.
func (c *Config) repeats() bool { return c.Chance.Seeded() && c.LogicalPorts }

// checkSize refuses a job with more allocations than a job may have. It comes
// before anything that is done for each allocation of a job.
func (c *Config) checkSize(job *api.Job) error {
	if found := validate.Allocations(job, c.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return nil
}

// Engine runs jobs. Its methods may be called from several goroutines at once.
type Engine struct {
	cfg   Config
	bus   event.Bus
	state *State
	ports *port.Claims
	cores *coreClaims

	stopping context.Context // done: every job is to end
	stop     context.CancelFunc
	hard     context.Context // done: and at once
	kill     context.CancelFunc
	leaving  context.Context // done: every task is left to itself
	leave    context.CancelFunc
	settled  context.Context // done: nothing new begins, for one of these reasons
	settle   context.CancelFunc

	watch  *driverWatch
	notice func(format string, args ...any) // publishes one

	onRecorder func(*store.Recorder) // for tests, who interrupt it

	allocs *allocs
	runs   jobRuns

	mu        sync.Mutex
	submitted bool
	closed    bool
}

// jobRuns are the runs of the jobs that were submitted or recovered.
type jobRuns struct {
	going sync.WaitGroup
	done  chan struct{} // closed when all have ended
	// finding counts the runs and allocations whose tasks drivers may find
	// again.
	finding sync.WaitGroup

	mu   sync.Mutex
	list []*jobRun
}

// jobRun is one run of a job: for each group and index a slot, in which one
// allocation after another runs.
type jobRun struct {
	engine   *Engine
	job      *api.Job // the version that was submitted: what no update changes is read here
	newest   atomic.Pointer[api.Job]
	dir      *allocdir.Run
	ports    jobPorts
	recorder *store.Recorder
	hostEnv  []string
	woken    chan struct{} // of capacity 1: something has changed
	ready    chan struct{} // closed when what an earlier engine has left is known

	stopping context.Context // done: the job is to end
	settled  context.Context // done: nothing new begins
	cancel   []context.CancelFunc

	children  children
	lives     sync.WaitGroup // of slots
	forgotten atomic.Bool    // it was purged and has ended

	mu          sync.Mutex
	versions    versions
	deployments deployments // of these
	scalings    map[string][]api.ScalingEvent
	slots       []*slot
	living      int  // slots
	changed     bool // the slots are to be looked at
	waits       bool // something is to be done with them later
	stopped     bool // by an order for this job
	purged      bool // it is forgotten as soon as it has ended
	ended       bool // nothing of it can begin any more
}

// children are the jobs that run in the name of another one, which is periodic
// or parameterized.
type children struct {
	parent      *jobRun
	runs        sync.WaitGroup
	dispatching sync.Mutex // serializes dispatches
	orphans     []*api.Job // that an earlier engine has left

	// Guarded by the parent's mu.
	live  int
	known map[string]*jobRun // by ID
}

// slot is where a group's allocations of one index run, one after another. A
// canary has a slot of its own, beside the one whose place it may take.
//
// What it is for is decided elsewhere, see rollOut; a goroutine of its own, as
// long as it lives, does that.
type slot struct {
	*jobRun
	group string
	index int
	lane  int // 0, or another one where several slots have the same index

	restored  *runner.Alloc   // the last one of an earlier engine, nil for none
	ended     *runner.Alloc   // the one before the next
	claimed   []int           // ports of the present one
	kept      []*runner.Alloc // that have ended, as the first of Placed
	forgotten store.Change    // those that are not kept, for the next placement
	wake      chan struct{}   // of capacity 1: something else is wanted
	onVerdict func(alloc string, v health.Verdict)

	// Guarded by the job's mu.
	slotRecord
	living  bool          // its goroutine runs
	present *runner.Alloc // nil between two of them
	again   bool          // another one is to run in its place, whatever becomes of it
}
