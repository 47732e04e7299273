package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
)

// runPeriodic launches the job at the times of its cron expressions until the
// engine stops.
func (r *jobRun) runPeriodic() {
	for {
		next, err := nextLaunch(r.job.Periodic, time.Now())
		if err != nil {
			r.notice("job %q will not be launched: %v", *r.job.ID, err)
			<-r.engine.stopping.Done()
			return
		}
		r.notice("next launch of job %q: %s", *r.job.ID, next.Format(time.RFC1123Z))
		if !r.sleepUntil(next) {
			return
		}
		if *r.job.Periodic.ProhibitOverlap && r.running() {
			r.notice("job %q is not launched: the last launch still runs and prohibit_overlap is set", *r.job.ID)
			continue
		}
		if err := r.launch(r.periodicChild(next)); err != nil {
			return // the engine stops
		}
	}
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
	child := newChild(r.job, fmt.Sprintf("%s/periodic-%d", *r.job.ID, at.Unix()))
	child.Periodic = nil
	return child
}

func (r *jobRun) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live > 0
}
