package runner

import (
	"time"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// healthWatch is the owner's view of the allocation's health.
type healthWatch struct {
	watch health.Watch
	timer *time.Timer
}

// beginHealth starts the watch if the allocation is part of a deployment and
// its group wants one.
func (a *Alloc) beginHealth() {
	policy, ok := health.PolicyOf(*a.cfg.Job.Type, a.cfg.Group)
	if !ok || a.cfg.Deployment == "" {
		return
	}
	a.health = &healthWatch{watch: health.Begin(policy, time.Now()), timer: time.NewTimer(policy.HealthyDeadline)}
}

// renewHealth begins the watch anew, for another deployment.
func (a *Alloc) renewHealth() {
	a.endHealth()
	a.mu.Lock()
	a.verdict = health.Unknown
	a.mu.Unlock()
	if !a.machine.Memory().Killing {
		a.beginHealth()
	}
}

// SetHealth says whether the allocation is healthy, in place of the watch. It
// may wait for the allocation.
func (a *Alloc) SetHealth(v health.Verdict) {
	a.post(func() {
		a.endHealth()
		a.mu.Lock()
		a.verdict = v
		a.mu.Unlock()
		a.publish("", event.AllocHealth{Healthy: v == health.Healthy})
		a.turn.verdict = true
	})
}

// healthTick is when the watch wants to be looked at, without a change.
func (a *Alloc) healthTick() <-chan time.Time {
	if a.health == nil {
		return nil
	}
	return a.health.timer.C
}

// endHealth gives up the watch: its allocation is being killed, or the verdict
// is there.
func (a *Alloc) endHealth() {
	if a.health != nil {
		a.health.timer.Stop()
		a.health = nil
	}
}

// checkHealth looks whether the allocation is healthy by now. Nomad does not
// look while it kills tasks for a cause, nor once the last task was stopped.
func (a *Alloc) checkHealth() {
	h, stopped := a.health, a.machine.Stopped()
	if h == nil || a.reviving > 0 || a.waitsForStarts() || a.machine.Blamed() || stopped && a.machine.Tally().Live() == 0 {
		return
	}
	tasks := a.healthTasks()
	watch, verdict, again := h.watch.Step(tasks, !a.unchecked, time.Now())
	h.watch = watch
	if verdict == health.Unknown {
		h.timer.Reset(time.Until(again))
		return
	}
	a.endHealth()
	a.mu.Lock()
	a.verdict = verdict
	a.mu.Unlock()
	if stopped {
		return // it is known, and nobody acts on it
	}
	healthy := verdict == health.Healthy
	if !healthy {
		blamed := watch.Blame(tasks)
		for _, t := range a.tasks {
			if message, ok := blamed[t.name]; ok {
				t.apply("", event.AllocUnhealthy(message))
			}
		}
	}
	a.publish("", event.AllocHealth{Healthy: healthy})
	a.turn.verdict = true
}

// passOnVerdict tells whoever waits for it whether the allocation is healthy.
func (a *Alloc) passOnVerdict() {
	if a.cfg.OnVerdict != nil {
		a.cfg.OnVerdict(a.verdict)
	}
}

// waitsForStarts reports that there can be no verdict yet, before all tasks are
// looked at: that would make starting many of them slow.
func (a *Alloc) waitsForStarts() bool {
	tally := a.machine.Tally()
	return a.health.watch.Ended == 0 && tally.Waiting() > 0 && tally.Dead() == 0 && time.Now().Before(a.health.watch.Deadline)
}

func (a *Alloc) healthTasks() []health.Task {
	tasks := make([]health.Task, len(a.tasks))
	for i, t := range a.tasks {
		tasks[i] = health.Task{
			Name: t.name, Stage: t.stage, Phase: phase(t.state), Failed: t.state.Failed,
			Started: t.state.StartedAt, Finished: !t.state.FinishedAt.IsZero(),
		}
	}
	return tasks
}
