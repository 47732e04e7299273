package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
	"taskrun/engine/update"
)

// newChild returns a job that runs on behalf of its parent. It shares the
// parent's data, which is read only.
func newChild(parent *api.Job, id string) *api.Job {
	child := *parent
	child.ID, child.Name, child.ParentID = &id, &id, parent.ID
	child.Version, child.SubmitTime, child.CreateIndex = new(uint64(0)), new(time.Now().UnixNano()), nil
	return &child
}

// launch starts a child in the directory of its parent's run, and stores that
// together with a change.
func (c *children) launch(child *api.Job, what store.Change) error {
	r := c.parent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.settled.Err() != nil || isStopped(r.newest.Load()) {
		return fmt.Errorf("cannot run job %q: it is being stopped", *r.job.ID)
	}
	if _, err := r.runs.find(r.host.keyOf(child)); err == nil && r.host.cfg.Resident {
		r.recorder.Commit(what)
		return nil // it was launched in the same second
	}
	if r.recorder.Durable() {
		what.Put(store.KeyOf(jobKey, r.host.keyOf(child)), child)
		r.recorder.Commit(what)
	}
	c.begin(child, func() {})
	return nil
}

// restore starts the children that an earlier engine has left running.
func (c *children) restore() {
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	for _, child := range c.orphans {
		c.parent.runs.finding.Add(1)
		c.begin(child, c.parent.runs.finding.Done)
	}
}

// begin starts a child. The caller must hold the lock.
func (c *children) begin(child *api.Job, restored func()) {
	parent := c.parent
	r := newJobRun(parent.host, parent.runs, child, parent.dir, parent.ports.Memory, parent.recorder)
	r.hostEnv = parent.hostEnv
	if parent.host.cfg.Resident {
		r.home = parent
	}
	r.ports.Sequence = parent.ports.Sequence
	for _, g := range child.TaskGroups {
		for i := range update.Count(child, g) {
			r.ports.Plan(g, i, 0)
		}
	}
	r.mu.Lock()
	r.introduce()
	r.mu.Unlock()
	c.mu.Lock()
	c.known[r.key] = r
	c.mu.Unlock()
	parent.runs.addChild(r)
	start := func() { r.restore(); restored() }
	if parent.host.cfg.Resident {
		r.enter(func() { start(); r.live() })
		return
	}
	c.live.Add(1)
	c.runs.Go(func() {
		start()
		r.runGroups()
		r.lives.Wait()
		r.finish()
		c.live.Add(-1)
	})
}

// live returns when the job has ended.
func (r *jobRun) live() {
	switch {
	case r.job.IsPeriodic():
		r.children.runPeriodic()
	case r.job.IsParameterized():
		r.host.notice("job %q waits to be dispatched", *r.job.ID)
		for !r.children.endsLaunching() {
			r.children.nextVersion(nil)
		}
	default:
		r.runGroups()
	}
}

// runPeriodic launches the job at the times of its cron expressions until the
// engine stops.
//
// If launches were due while no engine was running, it makes up for the first
// of them.
func (c *children) runPeriodic() {
	r := c.parent
	after := c.lastLaunch()
	for ; !c.endsLaunching(); after = time.Now() {
		next, err := nextLaunch(r.newest.Load().Periodic, after)
		if err != nil {
			r.host.notice("job %q will not be launched: %v", *r.job.ID, err)
			c.nextVersion(nil)
			continue
		}
		r.host.notice("next launch of job %q: %s", *r.job.ID, next.Format(time.RFC1123Z))
		if !c.awaitLaunch(next) {
			continue
		}
		var change store.Change
		c.launched(next, &change)
		if *r.newest.Load().Periodic.ProhibitOverlap && c.running() {
			r.host.notice("job %q is not launched: the last launch still runs and prohibit_overlap is set", *r.job.ID)
			r.recorder.Commit(change)
			continue
		}
		_ = c.launch(c.periodic(next), change) // fails if the job is being stopped
	}
}

// awaitLaunch waits for the time of a launch, and reports whether it came before a
// new version and the end of the job.
func (c *children) awaitLaunch(at time.Time) bool {
	for left := time.Until(at); left > 0; left = time.Until(at) {
		timer := time.NewTimer(nap(left, c.parent.host.cfg.repeats()))
		another := c.nextVersion(timer.C)
		timer.Stop()
		if another || c.parent.settled.Err() != nil {
			return false
		}
	}
	return true
}

// nap returns how long to wait before looking at the clock again. Timers stand still
// while this machine sleeps, the times of cron expressions do not: a launch is late
// by a minute at the most. A virtual clock never sleeps.
func nap(left time.Duration, virtual bool) time.Duration {
	if virtual {
		return left
	}
	return min(left, time.Minute)
}

// nextVersion waits for a time or the end of the job. It reports whether a new
// version of the job came first.
func (c *children) nextVersion(until <-chan time.Time) bool {
	select {
	case <-c.parent.woken:
		return true
	case <-until:
	case <-c.parent.settled.Done():
	}
	return false
}

// lastLaunch returns the time up to which launches were made, or now.
func (c *children) lastLaunch() (last time.Time) {
	r := c.parent
	if r.recorder.Durable() {
		if ok, err := r.recorder.Get(store.KeyOf(periodicKey, r.key), &last); ok && err == nil {
			return last
		}
	}
	last = time.Now()
	var change store.Change
	c.launched(last, &change)
	r.recorder.Commit(change)
	return last
}

// launched adds the time up to which launches were made to a change.
func (c *children) launched(at time.Time, change *store.Change) {
	change.Put(store.KeyOf(periodicKey, c.parent.key), at)
}

// nextLaunch returns when a periodic job is launched next after now.
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

// periodic returns the child for a launch at the given time.
func (c *children) periodic(at time.Time) *api.Job {
	parent := c.parent.newest.Load()
	child := newChild(parent, fmt.Sprintf("%s/periodic-%d", *parent.ID, at.Unix()))
	child.Periodic = nil
	return child
}

// endsLaunching reports whether a job launches nothing more. If so, it has
// ended.
func (c *children) endsLaunching() bool {
	r := c.parent
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.settled.Err() != nil || isStopped(r.newest.Load())
	return r.ended
}

// Launch runs a periodic job of this engine now, regardless of its cron
// expressions and prohibit_overlap, and returns the ID of the child. As in
// Nomad, it does not run a job with enabled = false or one that was stopped.
func (j JobHandle) Launch() (string, error) {
	r, err := j.engine.runs.find(j.key)
	if err != nil {
		return "", err
	}
	if !r.job.IsPeriodic() {
		return "", errors.New("can't force launch non-periodic job")
	}
	if !*r.job.Periodic.Enabled || isStopped(r.newest.Load()) {
		return "", fmt.Errorf("force launch for job %q failed: can't force run non-tracked job %q (%s)", j.key, j.key, *r.job.Namespace)
	}
	child := r.children.periodic(time.Now())
	return *child.ID, r.children.launch(child, store.Change{})
}
