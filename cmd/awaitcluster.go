package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// await waits until the jobs are as they should be, and never stops them.
func (r *clusterRun) await(ctx context.Context, past []event.Event, opts upOptions) error {
	ctx, stop := r.stoppable(ctx)
	defer stop()
	var overdue error
	if opts.timeout > 0 {
		overdue = &exitError{code: exitTimeout, err: fmt.Errorf("the timeout of %v has passed", opts.timeout)}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, overdue)
		defer cancel()
	}
	r.run.Silent = true
	w := newWaiting(r.apiJobs(), opts.until)
	for _, v := range w.verdicts {
		if opts.update {
			v.since = time.Now()
		}
		for _, e := range past {
			if v.concerns(e) {
				v.run.Apply(e)
			}
		}
	}
	if opts.mode == ui.Plain {
		w.say = func(text string) { r.say("%s", text) }
	}
	events := r.run.Subscribe(false)
	following, enough := context.WithCancel(ctx)
	defer enough()
	lost := make(chan error, 1)
	go func() {
		err := r.run.Follow(following)
		r.run.Close()
		lost <- err
	}()
	verdict := w.run(ctx, events)
	enough()
	err := <-lost
	switch {
	case verdict == nil:
		return nil
	case ctx.Err() != nil:
		r.farewell(opts.mode)
		return stopped(ctx, context.Cause(ctx))
	case errors.Is(verdict, errUndecided) && err != nil:
		return (&exitError{code: exitInternal, err: err}).withHint("%s", r.goesOn())
	case errors.Is(verdict, errUndecided): // all has ended
		if !w.failed() {
			return nil
		}
		return &exitError{code: exitFailed, err: errors.New("the run has failed")}
	}
	return (&exitError{code: exitFailed, err: verdict}).withHint("%s", r.goesOn())
}
