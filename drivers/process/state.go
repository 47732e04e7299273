package process

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Process is a process that was started, with all its descendants (its tree).
// When it ends, the rest of its tree is killed. Until that is done its PID is
// not released, so no other process can be hit by mistake. All methods are safe
// for concurrent use.
type Process struct {
	id     ID
	tag    string        // tag of its environment; see tagOf
	keeper Keeper        // its parent; nil if that is this program
	shadow int64         // see surePeak
	entry  Entry         // in the journal
	done   chan struct{} // closed when the process has ended
	gone   chan struct{} // closed when its tree has ended, too

	// Written once, under the reaper's lock, before done is closed.
	status  Status
	endedAt time.Time

	// Written before gone is closed.
	err error

	// Guarded by the reaper's lock.
	run      *Run
	kept     bool // until Release: another instance of this program may ask for it
	finished bool // nothing is left of its tree
	onExit   []func(Status, time.Time)
	reaped   bool
	members  map[ID]bool // processes seen in its tree

	// Used only by the reaper's goroutine.
	giveUpAt time.Time
}

// ID returns the identity of the process, for Run.Adopt.
func (p *Process) ID() ID { return p.id }

// Pid returns the PID of the process.
func (p *Process) Pid() int { return p.id.PID }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status returns how and when the process ended. Call it after Done is closed.
func (p *Process) Status() (Status, time.Time) { return p.status, p.endedAt }

// Gone returns a channel that is closed when the process and its tree have
// ended, or when killing the rest of it was given up; see Err.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Err returns an error that names processes of the tree that could not be
// killed. Call it after Gone is closed.
func (p *Process) Err() error { return p.err }

// hasBeenObserved reports whether the end of the process is known, and about to
// be announced. The caller must hold the reaper's lock.
func (p *Process) hasBeenObserved() bool { return !p.endedAt.IsZero() }

func (p *Process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Run is the set of processes of one run. Its processes are found by evidence
// that they inherit:
//
//   - ancestry: on Linux this program adopts every orphan among its descendants
//     (PR_SET_CHILD_SUBREAPER), so none can leave its tree while it is alive;
//   - the session: each process of the run starts one of its own;
//   - NOMAD_ALLOC_ID and NOMAD_TASK_NAME in the environment, both together;
//   - a mark that only a process with CAP_SYS_RESOURCE can remove (Linux; see
//     mark).
//
// The caller must call Shutdown at the end.
type Run struct {
	starting sync.WaitGroup // starts in progress
	helpers  bool           // see NewHelpers

	// Guarded by the reaper's lock.
	open, ended bool
	tags        map[string]bool // tags of all started processes
}

// NewRun returns a run without processes.
func NewRun() *Run { return &Run{tags: map[string]bool{}} }

func (r *Run) newProcess(env []string, onExit func(Status, time.Time)) *Process {
	return &Process{
		run:    r,
		tag:    tagOf(env),
		entry:  noEntry{},
		onExit: []func(Status, time.Time){onExit},
		done:   make(chan struct{}),
		gone:   make(chan struct{}),
	}
}

// reaping is the state of the reaper. Its goroutine runs from the first start
// of the first run until the end of the last one.
type reaping struct {
	mu       sync.Mutex
	procs    map[int]*Process  // not reaped yet
	starting map[*Process]bool // maybe forked, but not in procs yet
	missed   bool              // an orphan was skipped because of starting
	runs     int               // open runs
	helpers  int               // how many of these are runs of helpers
	journal  Journal           // nil: none
	keeper   Keeper            // parent of this program; nil: none
	quit     chan struct{}     // ends the goroutine
	ended    chan struct{}     // closed when the goroutine has ended
	pulse    chan struct{}     // closed and replaced after every lookAround

	wake   chan struct{} // capacity 1: asks for a lookAround
	buried atomic.Int64  // number of reaped children

	// Used only by the goroutine.
	leaving   []*Process // ended, but some of the tree is left
	unsettled bool       // the last scan found an orphan whose owner is not known yet
}

// reaper is the reaper of this program; see the package comment.
var reaper = reaping{
	procs:    map[int]*Process{},
	starting: map[*Process]bool{},
	wake:     make(chan struct{}, 1),
	pulse:    make(chan struct{}),
}

// giveUp is how long a killed process may take to end, Nomad's 15 seconds.
const giveUp = 15 * time.Second

// look asks the goroutine for a lookAround.
func (r *reaping) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// SetKeeper sets the keeper of this program. Call it before Adopt. The keeper
// calls news whenever children of it have ended, with the number of unrecorded
// ones that it has reaped. News does not block, so the keeper can call it
// during Reap.
func SetKeeper(k Keeper) (news func(reaped int)) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.keeper = k
	return func(reaped int) {
		reaper.buried.Add(int64(reaped))
		reaper.look()
	}
}

func (r *reaping) above() Keeper {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keeper
}

// keeperPID returns the PID of the keeper, or 0.
func (r *reaping) keeperPID() int {
	if k := r.above(); k != nil {
		return k.PID()
	}
	return 0
}

// isParent reports whether a PID is that of this program or its keeper, which
// adopt the orphans of a run.
func (r *reaping) isParent(pid int) bool {
	k := r.above()
	return pid == os.Getpid() || k != nil && pid == k.PID()
}

// SetJournal records every start from now on in a journal.
func SetJournal(j Journal) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.journal = j
}

func (r *reaping) journaled() Journal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal
}

// isOf reports whether a run has the process.
func (p *Process) isOf(run *Run) bool {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	return p.run == run
}

// oldest returns the earliest possible start time of a process in a run: that
// of this program or, if a keeper may have processes of an earlier instance, 0.
func (r *reaping) oldest() uint64 {
	if r.above() != nil {
		return 0
	}
	return Self().Start
}

// finish reaps a process whose tree is gone.
func (r *reaping) finish(p *Process) {
	r.mu.Lock()
	p.reaped, p.finished = true, true
	kept := p.kept && r.keeper != nil
	if !kept {
		r.bury(p)
	}
	r.mu.Unlock()
	if !kept {
		p.entry.Remove()
	}
	close(p.gone)
}

// bury releases the PID of a process. The caller must hold mu.
func (r *reaping) bury(p *Process) {
	if p.keeper != nil {
		p.keeper.Reap(p.id)
	} else {
		reap(p.id.PID)
	}
	r.buried.Add(1)
	if r.procs[p.id.PID] == p {
		delete(r.procs, p.id.PID)
	}
}

// news returns a channel that is closed after the next lookAround, and the
// number of children reaped so far.
func (r *reaping) news() (pulse <-chan struct{}, buried int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulse, r.buried.Load()
}
