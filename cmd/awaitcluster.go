package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
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
	since := time.Time{}
	if opts.update {
		since = time.Now()
	}
	w := &waiting{Ready: verdict.NewReady(r.apiJobs(), opts.until, since, past...)}
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
	failure := w.run(ctx, events)
	enough()
	err := <-lost
	switch {
	case failure == nil:
		return nil
	case ctx.Err() != nil:
		r.farewell(opts.mode)
		return stopped(ctx, context.Cause(ctx))
	case errors.Is(failure, errUndecided) && err != nil:
		return (&exitError{code: exitInternal, err: err}).withHint("%s", r.goesOn())
	case errors.Is(failure, errUndecided): // all has ended
		if !w.Failed() {
			return nil
		}
		return &exitError{code: exitFailed, err: errors.New("the run has failed")}
	}
	return (&exitError{code: exitFailed, err: failure}).withHint("%s", r.goesOn())
}
