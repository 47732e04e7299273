package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

// jobRun is one run of a job: for each group and index a slot, in which one
// allocation after another runs.
type jobRun struct {
	engine   *Engine
	job      *api.Job // the version that was submitted: what no update changes is read here
	newest   atomic.Pointer[api.Job]
	dir      *allocdir.Run
	memory   *port.Memory
	recorder *store.Recorder
	hostEnv  []string
	woken    chan struct{} // of capacity 1: something has changed
	ready    chan struct{} // closed when what an earlier engine has left is known

	stopping context.Context // done: the job is to end
	settled  context.Context // done: nothing new begins
	cancel   []context.CancelFunc

	static   []int // ports that are claimed for all of its allocations
	reserved bool  // these are all static ones

	children    sync.WaitGroup // jobs that run in the name of this one
	dispatching sync.Mutex     // one at a time
	lives       sync.WaitGroup // of slots

	mu          sync.Mutex
	versions    []*api.Job          // that are kept, the newest last
	deployments []*deploymentRecord // of these
	scalings    map[string][]api.ScalingEvent
	slots       []*slot
	living      int                // slots
	changed     bool               // the slots are to be looked at
	waits       bool               // something is to be done with them later
	excess      bool               // more static ports may be claimed than are needed
	live        int                // children
	known       map[string]*jobRun // children by ID
	stopped     bool               // by an order for this job
	purged      bool               // it is to be forgotten when it has ended
	orphans     []*api.Job         // children that an earlier engine has left
	ended       bool               // nothing of it can begin any more
}

func newJobRun(e *Engine, job *api.Job, dir *allocdir.Run, memory *port.Memory, recorder *store.Recorder) *jobRun {
	r := &jobRun{
		engine: e, job: job, dir: dir, memory: memory, recorder: recorder, hostEnv: e.cfg.HostEnv,
		woken: make(chan struct{}, 1), ready: make(chan struct{}), known: map[string]*jobRun{}, scalings: map[string][]api.ScalingEvent{},
	}
	r.newest.Store(job)
	r.versions = []*api.Job{job}
	var stop, settle context.CancelFunc
	r.stopping, stop = context.WithCancel(e.stopping)
	r.settled, settle = context.WithCancel(e.settled)
	r.cancel = []context.CancelFunc{stop, settle}
	return r
}

// lock is for who orders something of the job, or asks: it waits until there is
// an answer.
func (r *jobRun) lock() {
	<-r.ready
	r.mu.Lock()
}

// isEnding reports whether nothing new begins. Who leaves tasks says so before
// they are left.
func (r *jobRun) isEnding() bool { return r.settled.Err() != nil || r.engine.leaving.Err() != nil }

// stop has the job end.
func (r *jobRun) stop() {
	for _, cancel := range r.cancel {
		cancel()
	}
}

// close gives back what the run has, however far it came.
func (r *jobRun) close() error {
	r.releasePorts(r.static)
	return errors.Join(r.memory.Close(), r.dir.Close())
}

// run returns when the job has ended and its directory is closed.
func (r *jobRun) run() {
	var history *store.History
	if !r.recorder.Durable() { // else the recorder keeps it
		history = store.NewHistory(&r.engine.bus, r.dir.Dir, *r.job.ID)
	}
	r.restoreStop()
	r.restoreVersions()
	for _, child := range r.orphans {
		r.begin(child)
	}
	if !r.job.IsPeriodic() && !r.job.IsParameterized() {
		r.deployFirst()
	}
	r.introduce()
	r.restoreSlots()
	close(r.ready)
	r.engine.finding.Done()
	switch {
	case r.job.IsPeriodic():
		r.runPeriodic()
	case r.job.IsParameterized():
		r.notice("job %q waits to be dispatched", *r.job.ID)
		<-r.settled.Done()
	default:
		r.runGroups()
	}
	r.finish()
	r.children.Wait()
	if r.engine.leaving.Err() != nil {
		r.leave()
		return
	}
	if history != nil {
		if err := history.Close(); err != nil {
			r.notice("job %q: %v", *r.job.ID, err)
		}
	}
	if err := r.recorder.Remove(); err != nil {
		r.notice("cannot remove the state of job %q, which has ended: %v", *r.job.ID, err)
	}
	if err := r.dir.Prune(keptRuns); err != nil {
		r.notice("cannot remove old runs of job %q: %v", *r.job.ID, err)
	}
	if err := r.close(); err != nil {
		r.notice("cannot close the run of job %q: %v", *r.job.ID, err)
	}
}

// finish ends what the job itself does; its children may go on.
func (r *jobRun) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.stop() // there is nothing left to end
	if r.purged {
		r.engine.forgetJob(*r.job.ID)
	}
}

// leave closes what is kept of a run that another engine takes up.
func (r *jobRun) leave() {
	r.releasePorts(r.static)
	if err := errors.Join(r.recorder.Close(), r.memory.Close(), r.dir.Leave()); err != nil {
		r.notice("job %q: %v", *r.job.ID, err)
	}
}

func (r *jobRun) notice(format string, args ...any) {
	r.engine.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf(format, args...)})
}

func (r *jobRun) allocName(group string, index int) string {
	return fmt.Sprintf("%s.%s[%d]", *r.job.ID, group, index)
}
