package runner

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// begin starts the watch if the allocation is part of a deployment and
// its group wants one.
func (h *allocHealth) begin() {
	cfg := &h.alloc.cfg
	policy, ok := health.PolicyOf(*cfg.Job.Type, cfg.Group)
	if !ok || cfg.Deployment == "" {
		return
	}
	h.watch, h.timer = new(health.Begin(policy, time.Now())), time.NewTimer(policy.HealthyDeadline)
}

// renew begins the watch again, for another deployment.
func (h *allocHealth) renew() {
	h.end()
	h.decide(health.Unknown)
	if !h.alloc.machine.Memory().Killing {
		h.begin()
	}
}

func (h *allocHealth) decide(v health.Verdict) {
	h.alloc.mu.Lock()
	defer h.alloc.mu.Unlock()
	h.verdict, h.alloc.modified = v, time.Now()
}

// SetHealth says whether the allocation is healthy, in place of the watch. It
// waits until the allocation has taken that in.
func (a *Alloc) SetHealth(v health.Verdict) {
	a.inbox.ask(func() {
		a.health.end()
		a.health.decide(v)
		a.health.tell()
	})
}

// tell publishes the verdict, and has it passed on.
func (h *allocHealth) tell() {
	h.alloc.publish("", event.AllocHealth{Healthy: h.verdict == health.Healthy})
	h.alloc.turn.verdict = true
}

// tick is when the watch wants to be looked at, without a change.
func (h *allocHealth) tick() <-chan time.Time {
	if h.watch == nil {
		return nil
	}
	return h.timer.C
}

// end gives up the watch: its allocation is being killed, or the verdict is
// there.
func (h *allocHealth) end() {
	h.watch = nil
}

// check looks whether the allocation is healthy by now. A task that a user has
// stopped puts the verdict off. Nomad does not look
// while it kills tasks for a cause, nor once the last task was stopped.
func (h *allocHealth) check() {
	a, stopped := h.alloc, h.alloc.machine.Stopped()
	if h.watch == nil || a.revivals.count > 0 || a.halted > 0 || a.machine.Blamed() || stopped && a.machine.Tally().Live() == 0 {
		return
	}
	if h.waitsForStarts() { // the timer may be that of tasks that ran before
		h.timer.Reset(time.Until(h.watch.Deadline))
		return
	}
	tasks := h.tasks()
	watch, verdict, again := h.watch.Step(tasks, !h.unchecked, time.Now())
	h.watch = &watch
	if verdict == health.Unknown {
		h.timer.Reset(time.Until(again))
		return
	}
	h.end()
	h.decide(verdict)
	if stopped {
		return // it is known, and has no consequences
	}
	if verdict != health.Healthy {
		blamed := watch.Blame(tasks)
		for _, t := range a.tasks {
			if message, ok := blamed[t.name]; ok {
				t.apply("", event.AllocUnhealthy(message))
			}
		}
	}
	h.tell()
}

// conclude judges an allocation without a watch, such as one whose health is left
// to a user, once it has failed: as in Nomad it is unhealthy.
func (h *allocHealth) conclude() {
	a := h.alloc
	if h.watch == nil && h.verdict == health.Unknown && a.status == api.AllocClientStatusFailed && a.cfg.Deployment != "" {
		h.decide(health.Unhealthy)
		h.tell()
	}
}

// passOn hands the verdict to the engine.
func (h *allocHealth) passOn() {
	if tell := h.alloc.cfg.OnVerdict; tell != nil {
		tell(h.verdict)
	}
}

// waitsForStarts reports that there can be no verdict yet, before all tasks are
// looked at: that would make starting many of them slow.
func (h *allocHealth) waitsForStarts() bool {
	tally := h.alloc.machine.Tally()
	return h.watch.Ended == 0 && tally.Waiting() > 0 && tally.Dead() == 0 && time.Now().Before(h.watch.Deadline)
}

func (h *allocHealth) tasks() []health.Task {
	tasks := make([]health.Task, len(h.alloc.tasks))
	for i, t := range h.alloc.tasks {
		tasks[i] = health.Task{
			Name: t.name, Stage: t.stage, Phase: phase(t.state), Failed: t.state.Failed,
			Started: t.state.StartedAt, Finished: !t.state.FinishedAt.IsZero(),
		}
	}
	return tasks
}
