package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
)

// renewed is the reason of the restart of a task by Renew.
const renewed = "Files of the task have changed"

// startTime is how long Renew waits for a task that is about to start. One that
// takes longer finds the files as they are by then.
const startTime = time.Second

// Renew makes a task run with the current content of its files. A running task
// restarts, and one that waits for its restart starts at once. If the task has
// ended, its allocation starts again, without the tasks that a user has stopped; if
// the allocation has ended, it is replaced. Renew returns once the old process has
// ended.
func (e *Engine) Renew(ctx context.Context, alloc, task string) error {
	a := e.allocs.find(alloc)
	if a == nil {
		return fmt.Errorf("Unknown allocation %q", alloc) //nolint:staticcheck // Nomad's words
	}
	news := e.SubscribeTo(func(n event.Event) bool { return n.Alloc != nil && n.Alloc.ID == alloc })
	defer news.Close()
	late, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		err := a.RestartTask(ctx, task, renewed, false)
		if !errors.Is(err, runner.ErrTaskNotRunning) {
			return err
		}
		now := a.State()
		switch t := now.Tasks[task]; {
		case now.Status == api.AllocClientStatusComplete, now.Status == api.AllocClientStatusFailed:
			return replace(e, a.Config().Alloc)
		case t != nil && t.State == "dead":
			if err := a.Renew(ctx); !errors.Is(err, runner.ErrAllocEnded) {
				return err
			}
		}
		if a.Hurry(task) {
			return nil
		}
		if _, ok := news.Next(late); !ok {
			return ctx.Err()
		}
	}
}

// replace places another allocation in place of one that has ended, if it is the
// last one in its slot.
func replace(e *Engine, a *event.Alloc) error {
	return e.Handle(a.Job).order(func(r *jobRun) error {
		if r.isOver() || r.isEnding() {
			return fmt.Errorf("cannot start job %q again: %s", *r.job.ID, whyOver(r))
		}
		for s := range r.slots.lasting() {
			if s.last().ID == a.ID {
				s.placeAgain()
			}
		}
		r.revive()
		return nil
	})
}
