package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// runPeriodic launches the job at the times of its cron expressions until the
// engine stops.
//
// A launch whose time came while there was no engine is made up for; of
// several the first.
func (r *jobRun) runPeriodic() {
	after := r.lastLaunch()
	for ; ; after = time.Now() {
		next, err := nextLaunch(r.newest.Load().Periodic, after)
		if err != nil {
			r.notice("job %q will not be launched: %v", *r.job.ID, err)
			if r.awaitVersion(nil) {
				continue
			}
			return
		}
		r.notice("next launch of job %q: %s", *r.job.ID, next.Format(time.RFC1123Z))
		timer := time.NewTimer(time.Until(next))
		another := r.awaitVersion(timer.C)
		timer.Stop()
		switch {
		case another:
			continue
		case r.settled.Err() != nil:
			return
		}
		if *r.newest.Load().Periodic.ProhibitOverlap && r.running() {
			r.notice("job %q is not launched: the last launch still runs and prohibit_overlap is set", *r.job.ID)
			r.recorder.Commit(r.launched(next))
			continue
		}
		if err := r.launch(r.periodicChild(next), r.launched(next)); err != nil {
			return // the engine stops
		}
	}
}

// awaitVersion waits for a time, or the end of the job; true: for another
// version of it.
func (r *jobRun) awaitVersion(until <-chan time.Time) (another bool) {
	select {
	case <-r.woken:
		return true
	case <-until:
	case <-r.settled.Done():
	}
	return false
}

// lastLaunch is the time up to which launches were made, or now.
func (r *jobRun) lastLaunch() (last time.Time) {
	if r.recorder.Durable() {
		if ok, err := r.recorder.Get(store.KeyOf(periodicKey, *r.job.ID), &last); ok && err == nil {
			return last
		}
	}
	last = time.Now()
	r.recorder.Commit(r.launched(last))
	return last
}

// launched is the change that the launches up to a time were made.
func (r *jobRun) launched(at time.Time) (c store.Change) {
	c.Put(store.KeyOf(periodicKey, *r.job.ID), at)
	return c
}

// nextLaunch is when a periodic job is to be launched after now.
func nextLaunch(p *api.PeriodicConfig, now time.Time) (time.Time, error) {
	if !*p.Enabled {
		return time.Time{}, fmt.Errorf("its periodic block is not enabled")
	}
	location, err := p.GetLocation()
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot find time zone %q: %w", *p.TimeZone, err)
	}
	next, err := p.Next(now.In(location))
	if err != nil {
		return time.Time{}, err
	}
	if next.IsZero() {
		return time.Time{}, fmt.Errorf("its cron expressions name no time to come")
	}
	return next, nil
}

func (r *jobRun) periodicChild(at time.Time) *api.Job {
	child := newChild(r.newest.Load(), fmt.Sprintf("%s/periodic-%d", *r.job.ID, at.Unix()))
	child.Periodic = nil
	return child
}

func (r *jobRun) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live > 0
}

// Launch runs a periodic job of this engine now, whatever its cron expressions
// and prohibit_overlap say, and returns the ID of the job that it runs as. A job
// with enabled = false is not run, as in Nomad.
func (e *Engine) Launch(jobID string) (string, error) {
	r, err := e.job(jobID)
	if err != nil {
		return "", err
	}
	if !r.job.IsPeriodic() {
		return "", errors.New("can't force launch non-periodic job")
	}
	if !*r.job.Periodic.Enabled {
		return "", fmt.Errorf("force launch for job %q failed: can't force run non-tracked job %q (%s)", jobID, jobID, *r.job.Namespace)
	}
	child := r.periodicChild(time.Now())
	return *child.ID, r.launch(child, store.Change{})
}
