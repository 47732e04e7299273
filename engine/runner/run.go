package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/hooks"
)

// Run runs the allocation and returns when every task has ended for good, or
// was left. When ctx ends, what still runs is killed without grace.
func (a *Alloc) Run(ctx context.Context) Result {
	a.hard = ctx
	defer func() { _ = a.dir.Close() }()
	switch {
	case a.ended:
		if a.health.verdict != health.Unknown {
			a.health.passOn() // once more: who was told may have died of it
		}
		return a.result()
	case a.failure != nil:
		return a.failRestored()
	case a.restored:
		a.proceed()
	default:
		a.publishStatus()
		for _, t := range a.tasks {
			t.apply("", event.Received())
		}
		a.health.begin()
	}
	prerun := a.hooks // also when tasks run already
	if a.restored && (a.stored.Status == api.AllocClientStatusFailed || a.stored.Status == api.AllocClientStatusComplete) {
		prerun = nil
	}
	a.commit()
	a.children.Go(func() { a.prerun(prerun) })
	defer a.health.end()

	stop, hard := a.stop, ctx.Done()
	deadline, impatient := overdueTimer(overdueAt(a.cfg.Group, a.created)), time.NewTimer(giveUpTime)
	defer deadline.Stop()
	defer impatient.Stop()
	impatient.Stop()
	givenUp := false
	for a.gone < len(a.tasks) {
		select {
		case f := <-a.inbox:
			f()
		case <-a.health.tick():
		case <-stop:
			stop = nil
			a.happens(lifecycle.Input{Kind: lifecycle.Stop})
		case <-deadline.C:
			a.happens(lifecycle.Input{Kind: lifecycle.Overdue})
		case <-a.updates.ready:
			a.update(deadline)
		case <-hard:
			hard = nil
			impatient.Reset(giveUpTime)
			a.health.end()
			a.happens(lifecycle.Input{Kind: lifecycle.KillAtOnce})
		case <-impatient.C:
			givenUp = a.giveUp()
		}
		a.publishStatus()
		a.health.check()
		a.commit()
	}
	close(a.over)
	if !givenUp { // else it has been waited for
		a.finish("remaining", a.children.Wait)
	}
	if a.restored { // no task will be looked for any more
		for _, t := range a.tasks {
			t.looked()
		}
	}
	if a.left > 0 {
		a.finish("shutdown", func() {
			for h := range phases[hooks.AllocShutdown](a.hooks) {
				h.Shutdown()
			}
		})
	} else {
		a.finish("post-run", a.postrun)
		a.ended = true
		a.commit()
	}
	return a.result()
}

// prerun calls the hooks before the first task and reports how that went. It
// runs beside the owner, since a hook may take its time.
func (a *Alloc) prerun(called []hooks.AllocHook) {
	var failure error
	for h := range phases[hooks.AllocPrerun](called) {
		if err := h.Prerun(a.hard); err != nil {
			failure = fmt.Errorf("pre-run hook %q failed: %w", h.Name(), err)
			break
		}
	}
	a.post(func() {
		switch {
		case failure != nil:
			for _, t := range a.tasks {
				if t.state.State != dead {
					t.apply("", event.SetupFailure(failure))
				}
			}
			a.happens(lifecycle.Input{Kind: lifecycle.SetupFailed})
		case !a.machine.Memory().Prepared:
			a.happens(lifecycle.Input{Kind: lifecycle.Prepared})
		}
		for i, t := range a.tasks {
			if !a.machine.Mark(i).Ended {
				t.enterNetwork()
				a.children.Go(t.run)
			}
		}
	})
}

// giveUp ends the tasks that a hook or a driver has kept from ending. It reports
// whether there were any.
func (a *Alloc) giveUp() (late bool) {
	for _, t := range a.tasks {
		if t.gone {
			continue
		}
		late = true
		if t.state.State != dead {
			t.apply(dead, event.DriverFailure(fmt.Errorf("gave up: a hook or the driver of the task has not returned %v after the kill", giveUpTime)))
		}
		t.happens(lifecycle.Ends)
		t.leaves()
	}
	return late
}

// Fail ends the allocation, instead of Run, as one that cannot run.
func (a *Alloc) Fail(why string) Result {
	a.forced = why
	a.publishStatus()
	a.ended = true
	close(a.over)
	a.commit()
	return a.result()
}

// failRestored ends an allocation that cannot go on, with those of its tasks
// that still run.
func (a *Alloc) failRestored() Result {
	for _, t := range a.tasks {
		_ = within(a.hard.Done(), func() error {
			if err := t.recoverTask(); err != nil {
				return err
			}
			return t.driver.DestroyTask(t.id, true)
		})
		if t.state.State != dead {
			t.apply(dead, event.SetupFailure(a.failure))
		}
	}
	a.finish("post-run", a.postrun)
	return a.Fail(fmt.Sprintf("Unable to add allocation due to error: %v", a.failure))
}

func (a *Alloc) result() Result {
	return Result{Status: a.status, Failed: finishedAt(a.tasks, a.modified)}
}

// publishStatus publishes the allocation's status if it has changed.
func (a *Alloc) publishStatus() {
	status, description := a.machine.Status()
	if a.forced != "" {
		status, description = api.AllocClientStatusFailed, a.forced
	}
	if status == a.status && description == a.description {
		return
	}
	a.mu.Lock()
	a.status, a.description, a.modified = status, description, time.Now()
	a.mu.Unlock()
	body := event.AllocStatus{Status: status, Description: description, Replaces: a.cfg.Replaces, Retry: -1, Evaluation: a.cfg.Evaluation}
	if status == api.AllocClientStatusFailed && a.cfg.Retry != nil {
		body.Retry = a.cfg.Retry(finishedAt(a.tasks, a.modified))
	}
	a.publish("", body)
}

// finishedAt is when the last task ended; if none has run, when the allocation
// last changed.
func finishedAt(tasks []*task, modified time.Time) (last time.Time) {
	for _, t := range tasks {
		if t.state.FinishedAt.After(last) {
			last = t.state.FinishedAt
		}
	}
	if last.IsZero() {
		last = modified
	}
	return last
}
