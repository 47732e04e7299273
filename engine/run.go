package engine

import (
	"errors"

	"taskrun/engine/store"
)

// keptRuns is how many runs of a job are kept on disk.
const keptRuns = 5

// run returns when the job has ended and its directory is closed.
func (r *jobRun) run() {
	var history *store.History
	if !r.recorder.Durable() && !r.host.cfg.NoHistory { // a durable recorder keeps it itself
		history = store.NewHistory(&r.host.bus, r.dir.Dir, r.key)
	}
	r.begin()
	r.live()
	r.lives.Wait()
	r.finish()
	r.children.runs.Wait()
	if r.host.leaving.Err() != nil {
		r.leave()
		return
	}
	if history != nil {
		if err := history.Close(); err != nil {
			r.host.notice("job %q: %v", *r.job.ID, err)
		}
	}
	if err := r.recorder.Remove(); err != nil {
		r.host.notice("cannot remove the state of job %q, which has ended: %v", *r.job.ID, err)
	}
	if err := r.dir.Prune(keptRuns); err != nil {
		r.host.notice("cannot remove old runs of job %q: %v", *r.job.ID, err)
	}
	if err := r.close(); err != nil {
		r.host.notice("cannot close the run of job %q: %v", *r.job.ID, err)
	}
}

// begin brings the job into its first state, or into that of an earlier engine.
func (r *jobRun) begin() {
	r.children.restore()
	r.restore()
	r.runs.finding.Done()
	if launches(r.job) {
		r.placing.Done() // it places nothing itself
	}
}

// live returns when the job has ended.
func (r *jobRun) live() {
	switch {
	case r.job.IsPeriodic():
		r.children.runPeriodic()
	case r.job.IsParameterized():
		r.host.notice("job %q waits to be dispatched", *r.job.ID)
		for !r.endsLaunching() {
			r.children.nextVersion(nil)
		}
	default:
		r.runGroups()
	}
}

// endsLaunching reports whether a job launches nothing more. If so, it has
// ended.
func (r *jobRun) endsLaunching() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.settled.Err() != nil || isStopped(r.newest.Load())
	return r.ended
}

// close releases everything that the run has acquired so far.
func (r *jobRun) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports.releaseStatic(0)
	return errors.Join(r.ports.memory.Close(), r.dir.Close())
}

// leave closes what the run has open, so that another engine can continue it.
func (r *jobRun) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports.releaseStatic(0)
	if err := errors.Join(r.recorder.Close(), r.ports.memory.Close(), r.dir.Leave()); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
}
