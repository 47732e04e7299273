package runner

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// Update changes the job of the running allocation. It does not wait; if
// several versions come in quick succession, only the newest is applied. The
// shutdown_delay of the group and the tasks and max_run_duration take effect at
// once, kill_timeout for later kills, and everything else with a task's next
// start.
func (a *Alloc) Update(u Update) {
	a.updates.mu.Lock()
	a.updates.newest = &u
	a.updates.mu.Unlock()
	select {
	case a.updates.ready <- struct{}{}:
	default:
	}
}

// update applies the newest version and passes it to the hooks. The hooks run
// in their own goroutine, one update after another.
func (a *Alloc) update(deadline *time.Timer) {
	if a.updating {
		return // called again after the last update
	}
	a.updates.mu.Lock()
	u := a.updates.newest
	a.updates.newest = nil
	a.updates.mu.Unlock()
	if u == nil {
		return
	}
	before, deployed := overdueAt(a.cfg.Group, a.created), a.cfg.Deployment != u.Deployment
	a.mu.Lock()
	a.cfg.Job, a.cfg.Group, a.cfg.Deployment, a.cfg.Canary = u.Job, u.Group, u.Deployment, u.Canary
	a.mu.Unlock()
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
		if t := a.task(spec.Name); t != nil {
			t.job.Store(&jobSpec{u.Job, u.Group, spec})
		}
	}
	a.updating = true
	a.children.Go(func() {
		a.updateHooks(u)
		a.post(func() {
			a.updating = false
			select { // another update may have arrived
			case a.updates.ready <- struct{}{}:
			default:
			}
		})
	})
}

func (a *Alloc) updateHooks(u *Update) {
	for h := range phases[hooks.AllocUpdate](a.hooks) {
		if err := h.Update(a.hard, u.Job, u.Group); err != nil {
			a.publishNow(time.Now(), "", event.Notice{Text: fmt.Sprintf("update hook %q failed: %v", h.Name(), err)})
		}
	}
	for _, t := range a.tasks {
		t.run.hooks.update()
	}
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
