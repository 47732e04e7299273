package runner

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// Update changes the job under the running allocation. It returns at once; of
// several versions that come fast only the newest is taken in. The group's and
// the tasks' shutdown_delay and max_run_duration count at once, kill_timeout
// for what is said at once, and all else from a task's next start.
func (a *Alloc) Update(u Update) {
	a.updates.mu.Lock()
	a.updates.newest = &u
	a.updates.mu.Unlock()
	select {
	case a.updates.ready <- struct{}{}:
	default:
	}
}

// update takes in the newest version, and has the hooks do so. The hooks run
// beside the owner, one update after another.
func (a *Alloc) update(deadline *time.Timer) {
	if a.updating {
		return // it comes back when the last update is through
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
			select { // another may have come meanwhile
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
		t.hooks.update()
	}
}

// overdueTimer fires at a time; it never does if that is zero.
func overdueTimer(at time.Time) *time.Timer {
	timer := time.NewTimer(time.Until(at))
	if at.IsZero() {
		timer.Stop()
	}
	return timer
}

// overdueAt is when max_run_duration has passed since an allocation was made;
// zero without one.
func overdueAt(g *api.TaskGroup, created time.Time) time.Time {
	if d := g.MaxRunDuration; d != nil && *d > 0 {
		return created.Add(*d)
	}
	return time.Time{}
}
