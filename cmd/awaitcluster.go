package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// await waits until the jobs are ready, and never stops them.
func (r *clusterRun) await(ctx context.Context, past []event.Event, opts upOptions) error {
	ctx, stop := r.stoppable(ctx)
	defer stop()
	if opts.timeout > 0 {
		overdue := &exitError{code: exitTimeout, err: fmt.Errorf("the timeout of %v has passed", opts.timeout)}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, overdue)
		defer cancel()
	}
	r.run.Silent = true
	since := time.Time{}
	if opts.update {
		since = time.Now()
	}
	ready := verdict.NewReady(r.apiJobs(), opts.until, since, past...)
	loop := &source.Loop{Source: r.run, Decider: ready}
	if opts.mode == ui.Plain {
		loop.Screen = notices(func(text string) { r.say("%s", text) })
	}
	err := follow(ctx, loop)
	failure, decided := ready.Decided()
	switch {
	case decided && failure != nil:
		return (&exitError{code: exitFailed, err: failure}).withHint("%s", r.goesOn())
	case decided:
		return nil
	case ctx.Err() != nil:
		r.farewell(opts.mode)
		return stopped(ctx, err)
	case err != nil:
		return (&exitError{code: exitInternal, err: err}).withHint("%s", r.goesOn())
	case ready.Failed(): // all has ended
		return &exitError{code: exitFailed, err: errors.New("the run has failed")}
	}
	return nil
}
