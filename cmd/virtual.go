package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"taskrun/cmd/bubble"
	"taskrun/cmd/ci"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest/play"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec"
)

// rehearseVirtually rehearses jobs in virtual time. Whatever waits for the outside
// stays there: signals, and a reader of the output that takes its time.
func rehearseVirtually(ctx context.Context, a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, p verdict.Policy, dataDir string) error {
	ctx, stop := a.Interruptible(ctx)
	defer stop()
	outside := a.Streams
	streams, written := outside.Behind()
	a.Streams = streams
	defer func() { a.Streams = outside }()
	if p.Events = play.MaxEvents; p.Timeout == 0 {
		p.Timeout = play.VirtualTime
	}
	code := verdict.Internal
	var end ci.Ending
	err := bubble.Run(ctx, bubble.Limits{Virtual: p.Timeout + play.VirtualTime}, func(ctx context.Context) error {
		signals := make(chan os.Signal, 1)
		defer context.AfterFunc(ctx, func() {
			if sig := exit.BySignal(ctx); sig != nil {
				signals <- sig.Signal
			}
		})()
		r, stop := newRun(a, files, warnings, opts, p, surroundings{
			dataDir: dataDir, watch: keeper.New(), began: time.Now(), virtual: &virtualTime{signals, opts.seed},
		})
		defer stop()
		var err error
		code, err = r.run(ctx, jobfile.Jobs(files))
		end = r.ending()
		return err
	})
	written(ctx)
	if err != nil {
		return exit.Stopped(ctx, virtualError(err, opts.verbose))
	}
	a.Streams = outside
	return opts.reports.Ended(end, exit.Silent(code))
}

// virtualError adds the stacks of the goroutines that are to blame for an error of a
// bubble, or says how to get them.
func virtualError(err error, verbose bool) error {
	stacks := bubble.Stacks(err)
	switch {
	case stacks == "":
		return err
	case verbose:
		return fmt.Errorf("%w\n%s", err, stacks)
	}
	return (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("this is a mistake in taskrun: --verbose shows the stacks of its goroutines")
}
