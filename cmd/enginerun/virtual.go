package enginerun

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
)

// Virtually runs jobs in virtual time, and returns how that ended with the exit code as
// an error. Whatever waits for the outside stays there: signals, and a reader of the
// output that takes its time.
func Virtually(ctx context.Context, o Options) error {
	ctx, stop := o.Console.Interruptible(ctx)
	defer stop()
	outside := o.Console.Streams
	streams, written := outside.Behind()
	o.Console.Streams = streams
	defer func() { o.Console.Streams = outside }()
	if o.Policy.Events = play.MaxEvents; o.Policy.Timeout == 0 {
		o.Policy.Timeout = play.VirtualTime
	}
	code := verdict.Internal
	var end ci.Ending
	err := bubble.Run(ctx, bubble.Limits{Virtual: o.Policy.Timeout + play.VirtualTime}, func(ctx context.Context) error {
		signals := make(chan os.Signal, 1)
		defer context.AfterFunc(ctx, func() {
			if sig := exit.BySignal(ctx); sig != nil {
				signals <- sig.Signal
			}
		})()
		o.Began, o.virtual = time.Now(), signals
		r, stop := New(o)
		defer stop()
		var err error
		code, err = r.Run(ctx, jobfile.Jobs(o.Files))
		end = r.Ending()
		return err
	})
	written(ctx)
	if err != nil {
		return exit.Stopped(ctx, virtualError(err, o.View.Verbose))
	}
	o.Console.Streams = outside
	return o.Reports.Ended(end, exit.Silent(code))
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
