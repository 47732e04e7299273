package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"taskrun/cmd/source"
)

// stopSignals are the signals that end a run gracefully, and at once when they
// come again, with the exit code that each leads to.
var stopSignals = map[os.Signal]int{
	syscall.SIGINT:  exitInterrupt,
	syscall.SIGTERM: exitTerminate,
	syscall.SIGHUP:  exitHangup,
}

// watchSignals sends the stop signals until stop is called.
//
// SIGHUP stays ignored where it was (nohup). SIGPIPE is caught and dropped, so
// that a closed stdout is an error of the write and tasks can still be stopped;
// it is not ignored, since tasks would inherit that.
func watchSignals() (signals <-chan os.Signal, stop func()) {
	stops, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for sig := range stopSignals {
		if sig == syscall.SIGHUP && signal.Ignored(sig) {
			continue
		}
		signal.Notify(stops, sig)
	}
	signal.Notify(pipe, syscall.SIGPIPE)
	return stops, func() {
		signal.Stop(stops)
		signal.Stop(pipe)
	}
}

// stoppable returns a context that ends with the first signal to stop, and when
// stdout is closed, for commands that leave nothing to clean up.
func (a *app) stoppable(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatchOut := a.streams.WatchOut(cancel)
	ctx, unwatch := a.interruptible(ctx)
	return ctx, func() {
		unwatch()
		unwatchOut()
		cancel(nil)
	}
}

// interruptible returns a context that ends with the first signal to stop, which is
// its cause.
func (a *app) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, unwatch := a.signals()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case sig := <-signals:
			cancel(&signalError{sig, stopSignals[sig]})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		unwatch()
	}
}

// impatient calls f, which ends with ctx unless a slow reader of stdout keeps it.
// Then impatient returns, and f goes on until the end of the program.
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
