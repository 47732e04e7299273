package process

import (
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Process is one process that was started, together with all that it starts in
// turn, its tree. When it ends the rest of its tree is killed; until that is
// done its number stays taken, so nothing here can hit a stranger. All methods
// may be called from several goroutines at once.
type Process struct {
	id     ID
	tag    string        // of its environment; see tagOf
	keeper Keeper        // whose child it is, nil when it is one of this program
	shadow int64         // see surePeak
	entry  Entry         // in the journal
	done   chan struct{} // closed when the process has ended
	gone   chan struct{} // closed when its tree has, too

	// Written before done is closed.
	status  Status
	endedAt time.Time

	// Written before gone is closed.
	err error

	// Guarded by the reaper's lock.
	run      *Run
	kept     bool // until Release, where another instance of this program may ask for it
	finished bool // nothing is left of its tree
	onExit   []func(Status, time.Time)
	reaped   bool
	members  map[ID]bool // processes that were seen in its tree

	// Of the reaper's goroutine alone.
	giveUpAt time.Time
}

// ID returns what the process can be found by again; see Run.Adopt.
func (p *Process) ID() ID { return p.id }

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.id.PID }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status reports how and when the process ended. Call it after Done is closed.
func (p *Process) Status() (Status, time.Time) { return p.status, p.endedAt }

// Gone is closed when the process and its tree have ended, or when it was
// given up to kill the rest of it; see Err.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Err names processes of the tree that could not be killed, or is nil. Call it
// after Gone is closed.
func (p *Process) Err() error { return p.err }

// hasBeenObserved reports whether it is known how the process ended, which is
// announced next. The caller holds the reaper's lock.
func (p *Process) hasBeenObserved() bool { return !p.endedAt.IsZero() }

func (p *Process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Run is all processes of one run. What belongs to it, or to one of its
// processes, is found by evidence that is inherited:
//
//   - parentage: on Linux this program adopts every orphan among its
//     descendants (PR_SET_CHILD_SUBREAPER), so that none gets out of its tree
//     while it lives;
//   - the session: each process of the run starts one of its own;
//   - NOMAD_ALLOC_ID and NOMAD_TASK_NAME in the environment, both together;
//   - a mark that no process without CAP_SYS_RESOURCE can take off (Linux; see
//     mark).
//
// Shutdown must be called in the end.
type Run struct {
	starting sync.WaitGroup // starts under way
	helpers  bool           // see NewHelpers

	// Guarded by the reaper's lock.
	open, ended bool
	tags        map[string]bool // of everything that was started
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

// reaping is the state of the reaper. Its goroutine lives from the first start
// of the first run to the end of the last.
type reaping struct {
	mu       sync.Mutex
	procs    map[int]*Process  // that have not been reaped
	starting map[*Process]bool // forked, perhaps, but not in procs yet
	missed   bool              // an orphan was left alone because of starting
	runs     int               // that are open
	helpers  int               // of these, runs of helpers
	journal  Journal           // nil if there is none
	keeper   Keeper            // above this program, nil if there is none
	quit     chan struct{}     // ends the goroutine
	ended    chan struct{}     // closed when it has
	pulse    chan struct{}     // closed, and replaced, after every look around

	wake   chan struct{} // has room for one: look around
	buried atomic.Int64  // children that were reaped

	// Of the goroutine alone.
	leaving   []*Process // ended, but something of the tree is left
	unsettled bool       // the last scan could not say of some orphan whose it is
}

// reaper is the one of this program; see the package comment.
var reaper = reaping{
	procs:    map[int]*Process{},
	starting: map[*Process]bool{},
	wake:     make(chan struct{}, 1),
	pulse:    make(chan struct{}),
}

// giveUp is how long a killed process may take to end, Nomad's 15 seconds.
const giveUp = 15 * time.Second

// look has the goroutine look around.
func (r *reaping) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// SetKeeper sets the keeper of this program. Call it before anything is adopted.
// The keeper calls news whenever children of it have ended, with the number of
// unrecorded ones that it has reaped. News waits for nothing, so that the keeper
// can call it during Reap.
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

// keeperPID returns the number of the keeper, 0 if there is none.
func (r *reaping) keeperPID() int {
	if k := r.above(); k != nil {
		return k.PID()
	}
	return 0
}

// isParent reports whether a number is that of this program or its keeper:
// whose children the orphans of a run become.
func (r *reaping) isParent(pid int) bool {
	k := r.above()
	return pid == os.Getpid() || k != nil && pid == k.PID()
}

// SetJournal has every start from now on written to a journal.
func SetJournal(j Journal) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.journal = j
}

func (r *reaping) recall(id ID) Entry {
	r.mu.Lock()
	j := r.journal
	r.mu.Unlock()
	if j == nil {
		return noEntry{}
	}
	return j.Recall(id)
}

func (r *reaping) intend(p *Process) Entry {
	r.mu.Lock()
	j := r.journal
	r.mu.Unlock()
	if j == nil || p.run.helpers {
		return noEntry{}
	}
	return j.Intend(p.tag)
}

// isOf reports whether a run has the process.
func (p *Process) isOf(run *Run) bool {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	return p.run == run
}

// oldest returns the earliest start that a process of a run can have: that of
// this program, which all descend from, or any when a keeper may have some of an
// earlier instance.
func (r *reaping) oldest() uint64 {
	if r.above() != nil {
		return 0
	}
	return Self().Start
}

// finish reaps a process of which nothing is left.
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

// bury frees the number of a process; the caller holds mu.
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

// news returns a channel that is closed after the next look around, and how
// many children have been reaped until now.
func (r *reaping) news() (pulse <-chan struct{}, buried int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulse, r.buried.Load()
}
