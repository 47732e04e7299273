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
	"taskrun/jobspec/taskenv"
)

// Begin publishes the first status of a new allocation, and that its tasks were
// received. Run does so unless it was done.
func (a *Alloc) Begin() {
	if a.status != "" {
		return
	}
	a.publishStatus()
	for _, t := range a.tasks {
		t.apply("", event.Received())
	}
	a.health.begin()
	a.commit()
}

// Run runs the allocation. It returns when every task has ended for good, or
// was left running. When ctx ends, it kills the running tasks without grace.
func (a *Alloc) Run(ctx context.Context) Result {
	a.hard = ctx
	defer func() { _ = a.dir.Close() }()
	switch {
	case a.ended:
		if a.health.verdict != health.Unknown {
			a.health.passOn() // again: the program may have died before OnVerdict returned
		}
		return result(a)
	case a.failure != nil:
		return a.failRestored()
	case a.restored:
		a.proceed()
	default:
		a.Begin()
	}
	prerun := a.hooks.list // even if tasks are already running
	if a.restored && (a.stored.Status == api.AllocClientStatusFailed || a.stored.Status == api.AllocClientStatusComplete) {
		prerun = nil
	}
	a.commit()
	a.children.Go(func() { a.prerun(prerun) })
	defer a.health.end()

	stop, hard := a.stop, ctx.Done()
	deadline, impatient := overdueTimer(overdueAt(a.cfg.Group, a.created)), time.NewTimer(giveUpTime)
	impatient.Stop()
	givenUp := false
	for a.gone < len(a.tasks) {
		select {
		case f := <-a.inbox.reports:
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
		a.health.conclude()
		a.commit()
	}
	close(a.inbox.over)
	if !givenUp { // otherwise it was waited for already
		a.hooks.finish("remaining", a.children.Wait)
	}
	a.tasks.looked()
	if a.left > 0 {
		a.hooks.finish("shutdown", a.hooks.shutdown)
	} else {
		a.hooks.finish("post-run", a.hooks.postrun)
		a.ended = true
		a.commit()
	}
	return result(a)
}

// prerun calls the hooks that precede the first task, and reports the result.
// It runs in its own goroutine, because a hook may take long.
func (a *Alloc) prerun(called []hooks.AllocHook) {
	var failure error
	for h := range phases[hooks.AllocPrerun](called) {
		if err := h.Prerun(a.hard); err != nil {
			failure = fmt.Errorf("pre-run hook %q failed: %w", h.Name(), err)
			break
		}
	}
	a.inbox.post(func() {
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
				t.run.enterNetwork()
				a.children.Go(t.run.live)
			}
		}
	})
}

// enterNetwork gives the task the network of its group. Call it before run.
func (t *taskRun) enterNetwork() {
	if n := t.alloc.network; n != nil && n.IP != "" {
		t.env.change().Network = taskenv.Network{Interface: n.Interface, Address: n.IP}
	}
}

// giveUp ends the tasks that a hook or a driver keeps from ending. It reports
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

// result returns how an allocation has ended.
func result(a *Alloc) Result {
	s := a.State()
	return Result{Status: s.Status, Failed: s.LastEvent()}
}

// Fail ends an allocation that cannot run. It replaces Run.
func (a *Alloc) Fail(why string) Result {
	a.forced = why
	a.publishStatus()
	a.health.conclude()
	a.ended = true
	close(a.inbox.over)
	a.commit()
	return result(a)
}

// failRestored ends an allocation that cannot continue, and kills its running
// tasks.
func (a *Alloc) failRestored() Result {
	for _, t := range a.tasks {
		_ = within(a.hard.Done(), func() error {
			defer t.looked()
			if err := t.run.recoverTask(); err != nil {
				return err
			}
			return t.driver.DestroyTask(t.run.id, true)
		})
		if t.state.State != dead {
			t.apply(dead, event.SetupFailure(a.failure))
		}
	}
	a.hooks.finish("post-run", a.hooks.postrun)
	return a.Fail(fmt.Sprintf("Unable to add allocation due to error: %v", a.failure))
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
		body.Retry = a.cfg.Retry(a.State().LastEvent())
	}
	a.publish("", body)
}
