package cmd

import (
	"context"
	"errors"
	"os"
	"time"

	"taskrun/cmd/source"
)

// stopError is the signal that ends a command.
type stopError struct {
	os.Signal
	code int
}

func (e *stopError) Error() string { return "stopped by " + e.String() }

// stoppable returns a context that ends with the first signal to stop, and when
// stdout is closed, for commands that leave nothing to clean up.
func (a *app) stoppable(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, unwatch := a.signals()
	unwatchOut := a.streams.WatchOut(cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			cancel(&stopError{sig, stopSignals[sig]})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		unwatchOut()
		unwatch()
	}
}

// stopped returns the error of a command that may have been stopped.
func stopped(ctx context.Context, err error) error {
	var sig *stopError
	if errors.As(context.Cause(ctx), &sig) {
		return silent(sig.code)
	}
	return err
}

// impatient calls f, which ends with ctx unless whoever reads stdout keeps it
// waiting: then it is not waited for any longer, and goes on until the end of
// the program.
func impatient(ctx context.Context, f func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(source.ReadTime):
		return context.Cause(ctx)
	}
}
