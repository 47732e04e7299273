package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/grant"
	"taskrun/engine/health"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/port"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

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
	purged  []*jobRun // no longer in list, but not over yet
	over    bool      // nothing new may start
}

// jobRun is one run of a job. It has a slot for each group and index, in which
// allocations run one after another.
type jobRun struct {
	history
	runs    *jobRuns
	job     *api.Job // the submitted version, for everything that updates cannot change
	dir     *datadir.Run
	ports   grant.Ports
	hostEnv []string
	woken   chan struct{} // signals a change; capacity 1
	ready   chan struct{} // closed when the state left by an earlier engine is known

	stopping context.Context // done: the job stops
	settled  context.Context // done: nothing new starts
	cancel   []context.CancelFunc

	children  children
	home      *jobRun        // the run whose directory it uses: its own or, in a resident engine, that of its parent
	lives     sync.WaitGroup // running slots
	placing   sync.WaitGroup // the first turn, and the first placement of each slot that it begins
	forgotten atomic.Bool    // the job was purged and has ended

	mu      sync.Mutex
	slots   slots
	living  int  // number of running slots
	changed bool // the slots have to be checked
	waits   bool // a slot is waiting for its turn
	stopped bool // by an order for this job
	ended   bool // the job can start nothing more
	turned  bool // the first turn is over
	idle    bool // everything has ended, and another version is awaited
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
	resumes   bool            // its next life waits for the time to replace the last allocation
	ended     *runner.Alloc   // the previous allocation, until the next one is placed
	claimed   []int           // ports of the present allocation
	kept      []*runner.Alloc // allocations that have ended, like the first ones of Placed
	forgotten store.Change    // records to delete at the next placement
	wake      chan struct{}   // signals that the wanted state has changed; capacity 1
	onVerdict func(alloc string, v health.Verdict)

	// Guarded by the job's mu.
	slotRecord
	living   bool          // the slot's goroutine is running
	files    int           // descriptors that are counted for it
	present  *runner.Alloc // nil between two allocations
	again    bool          // place another allocation, however this one ends
	promised bool          // the status of the last allocation, which has failed, says when it is replaced
}

func newJobRun(h *host, runs *jobRuns, job *api.Job, dir *datadir.Run, memory *port.Memory, recorder *store.Recorder) *jobRun {
	r := &jobRun{
		history: history{
			host: h, key: h.keyOf(job), recorder: recorder, versions: versions{job},
			scalings: map[string][]api.ScalingEvent{}, submissions: map[uint64]*api.JobSubmission{},
		},
		runs: runs, job: job, dir: dir, hostEnv: h.cfg.HostEnv, woken: make(chan struct{}, 1), ready: make(chan struct{}),
	}
	if job.ParentID != nil && *job.ParentID != "" {
		r.parent = h.keyIn(job, *job.ParentID)
	}
	r.placing.Add(1) // until the first turn is over
	r.ports = grant.Ports{Job: *job.ID, Claims: h.ports, Shared: h.cfg.LogicalPorts, Memory: memory, Notice: h.notice, Drivers: h.cfg.Drivers}
	r.children = children{parent: r, known: map[string]*jobRun{}}
	r.home = r
	r.newest.Store(job)
	var stop, settle context.CancelFunc
	r.stopping, stop = context.WithCancel(h.stopping)
	r.settled, settle = context.WithCancel(h.settled)
	r.cancel = []context.CancelFunc{stop, settle}
	return r
}

// lock locks the job once the state left by an earlier engine is known.
func (r *jobRun) lock() {
	<-r.ready
	r.mu.Lock()
}

// isEnding reports whether the job starts nothing new.
func (r *jobRun) isEnding() bool { return r.settled.Err() != nil || r.host.leaving.Err() != nil }

// stop stops the job.
func (r *jobRun) stop() {
	for _, cancel := range r.cancel {
		cancel()
	}
}

// look makes the job check its slots.
func (r *jobRun) look() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// slots are the slots of a job.
type slots []*slot

// isOver reports whether the job has ended, or is being stopped, for good. In a
// resident engine, it can live again unless it was purged. The caller must hold
// the lock.
func (r *jobRun) isOver() bool {
	if r.host.cfg.Resident {
		return r.purged.Load() || r.home.purged.Load()
	}
	return r.ended || r.stopped
}

// whyOver says why a job cannot change. The caller must hold its lock.
func whyOver(r *jobRun) string {
	if r.ended && !r.host.cfg.Resident {
		return "it has ended, and only an agent starts it again"
	}
	return "it is being stopped"
}
