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
	pruned := make(chan error, 1)
	go func() { pruned <- r.dir.Prune(keptRuns) }() // at the end the user would wait for it
	r.begin()
	r.lives.Wait()
	r.finish()
	r.children.runs.Wait()
	if err := <-pruned; err != nil {
		r.host.notice("cannot remove old runs of job %q: %v", *r.job.ID, err)
	}
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
	if err := r.close(); err != nil {
		r.host.notice("cannot close the run of job %q: %v", *r.job.ID, err)
	}
}

// begin brings the job into its first state, or into that of an earlier engine. It
// returns when the job has ended.
func (r *jobRun) begin() {
	r.children.restore()
	r.restore()
	r.runs.finding.Done()
	if launches(r.job) {
		r.placing.Done() // it places nothing itself
	}
	r.live()
}

// close releases everything that the run has acquired so far.
func (r *jobRun) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports.ReleaseStatic(0)
	return errors.Join(r.ports.Memory.Close(), r.dir.Close())
}

// leave closes what the run has open, so that another engine can continue it.
func (r *jobRun) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ports.ReleaseStatic(0)
	if err := errors.Join(r.recorder.Close(), r.ports.Memory.Close(), r.dir.Leave()); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
}

// revive begins another life of a dead job if a slot lives or, for a job that
// launches others, if it may launch some. The caller must hold the lock.
func (r *jobRun) revive() {
	lives := r.living > 0 || launches(r.job) && !isStopped(r.newest.Load())
	if !r.ended || !lives || !r.host.cfg.Resident {
		return
	}
	r.ended = false
	if r.ports.Reserved && r.ports.Static() == 0 {
		r.ports.Reserved = r.ports.Reserve(r.newest.Load()) == nil // otherwise each allocation claims its own
	}
	r.enter(r.live)
}

// leave closes what all runs of a resident engine have open, for a later engine.
func (l *jobRuns) leave() {
	l.mu.Lock()
	runs := append(l.list, l.purged...)
	l.mu.Unlock()
	for _, r := range runs {
		if r.host.cfg.Resident {
			r.leave()
		}
	}
}
