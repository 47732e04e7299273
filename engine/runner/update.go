package runner

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Update changes the job of the running allocation. It does not wait; if
// several versions come in quick succession, only the newest is applied. The
// shutdown_delay of the group and the tasks and max_run_duration take effect at
// once, kill_timeout for later kills, and everything else with a task's next
// start.
func (a *Alloc) Update(u Update) {
	a.updates.newest.Store(&u)
	a.updates.look()
}

// update applies the newest version and passes it to the hooks. The hooks run
// in their own goroutine, one update after another.
func (a *Alloc) update(deadline *time.Timer) {
	if a.updating {
		return // called again after the last update
	}
	u := a.updates.newest.Swap(nil)
	if u == nil {
		return
	}
	before, deployed := overdueAt(a.cfg.Group, a.created), a.cfg.Deployment != u.Deployment
	moved := *a.cfg.Job.Version != *u.Job.Version
	a.mu.Lock()
	a.cfg.Job, a.cfg.Group, a.cfg.Deployment, a.cfg.Canary = u.Job, u.Group, u.Deployment, u.Canary
	a.mu.Unlock()
	if moved {
		a.publishNow(time.Now(), "", event.Moved{})
	}
	if deployed {
		a.health.renew()
	}
	switch after := overdueAt(u.Group, a.created); {
	case after.IsZero():
		deadline.Stop()
	case !after.Equal(before):
		deadline.Reset(time.Until(after))
	}
	for _, spec := range u.Group.Tasks {
		if t := a.tasks.named(spec.Name); t != nil {
			t.job.Store(&jobSpec{u.Job, u.Group, spec})
		}
	}
	a.updating = true
	a.children.Go(func() {
		a.hooks.update(u)
		a.inbox.post(func() {
			a.updating = false
			a.updates.look() // another one may have arrived
		})
	})
}

// overdueTimer returns a timer that fires at a time, or never if that is zero.
func overdueTimer(at time.Time) *time.Timer {
	timer := time.NewTimer(time.Until(at))
	if at.IsZero() {
		timer.Stop()
	}
	return timer
}

// overdueAt returns when max_run_duration ends for an allocation created at the
// given time, or zero without that limit.
func overdueAt(g *api.TaskGroup, created time.Time) time.Time {
	if d := g.MaxRunDuration; d != nil && *d > 0 {
		return created.Add(*d)
	}
	return time.Time{}
}
