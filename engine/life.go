package engine

import "time"

// A job of a resident engine has any number of lives: it is dead when everything
// of it has ended, and lives again when a slot begins or, for a job that launches
// others, with a new version. Each life has a goroutine, and a dead job has no
// open files.

// enter starts a life of the job, which is over when live returns. It reports
// whether it could: nothing lives once the engine stops or leaves.
func (r *jobRun) enter(live func()) bool {
	if err := r.recorder.Wake(); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
	if r.home != r {
		r.home.children.live.Add(1)
	}
	entered := r.runs.enter(func() {
		live()
		r.rest()
	})
	if !entered {
		r.recorder.Rest()
	}
	return entered
}

// rest ends a life of the job.
func (r *jobRun) rest() {
	r.mu.Lock()
	leaving := r.host.leaving.Err() != nil
	if r.ended && !leaving {
		r.ports.releaseStatic(0)
		if r.home != r && r.isOver() {
			r.eraseChild()
		}
	}
	r.mu.Unlock()
	if surplus := r.home.children.died(r); surplus != nil {
		surplus.collect(time.Now(), time.Now())
	}
	if r.home != r {
		r.home.children.live.Add(-1)
	}
	home := r.home
	if !home.recorder.Rest() || leaving {
		return
	}
	home.mu.Lock()
	defer home.mu.Unlock()
	if home.purged.Load() {
		home.erase()
	}
}
