package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
)

// awaitRun waits until a run in the background is ready or has ended well.
func awaitRun(ctx context.Context, a *app, d *source.Directory, opts upOptions) error {
	ctx, stop := a.stoppable(ctx)
	defer stop()
	defer d.Close()
	jobs, err := d.Jobs(ctx)
	if err != nil {
		if summary, _ := readSummary(d.Self.Runs[d.IDs[0]]); summary != nil {
			return endedEarly(d, summary)
		}
		return stopped(ctx, err)
	}
	d.Detail = source.Events
	ready := verdict.NewReady(jobs, opts.until, time.Time{})
	err = follow(ctx, &source.Loop{Source: d, Decider: ready})
	failure, decided := ready.Decided()
	switch {
	case decided && failure != nil:
		return (&exitError{code: exitFailed, err: failure}).
			withHint("the run goes on if it can: taskrun attach %s; messages of taskrun are in %s", d.IDs[0], d.Log(d.IDs[0]))
	case decided:
		return nil
	case err != nil:
		var sig *stopError
		if errors.As(context.Cause(ctx), &sig) {
			a.say("the run goes on; stop it with: taskrun stop %s", d.IDs[0])
		}
		return stopped(ctx, err)
	}
	summary, err := readSummary(d.Self.Runs[d.IDs[0]])
	if err != nil {
		return err
	}
	return endedEarly(d, summary)
}

// endedEarly returns the error of a run that has ended before it was ready,
// unless it has ended well.
func endedEarly(d *source.Directory, summary *view.Summary) error {
	if summary.ExitCode == exitOK {
		return nil
	}
	job := d.IDs[0]
	return (&exitError{code: summary.ExitCode, err: fmt.Errorf("job %q has ended with exit code %d", job, summary.ExitCode)}).
		withHint("see: taskrun logs %s; messages of taskrun are in %s", job, d.Log(job))
}
