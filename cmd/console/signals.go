package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"taskrun/cmd/exit"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
)

// StopSignals maps the signals that end a run to their exit codes. The first
// one stops the run gracefully, the second one at once.
var StopSignals = map[os.Signal]int{
	syscall.SIGINT:  verdict.Interrupt,
	syscall.SIGTERM: verdict.Terminate,
	syscall.SIGHUP:  verdict.Hangup,
}

// WatchSignals sends the stop signals until stop is called.
//
// A SIGHUP that was ignored (nohup) stays ignored. SIGPIPE is caught and
// dropped: a closed stdout becomes an error of the write, and tasks can still
// be stopped. It is not ignored, because tasks would inherit that.
func WatchSignals() (signals <-chan os.Signal, stop func()) {
	stops, pipe := make(chan os.Signal, 2), make(chan os.Signal, 1)
	for sig := range StopSignals {
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

// Stoppable returns a context that ends with the first stop signal, and when
// stdout is closed. It is for commands that leave nothing to clean up.
func (c *Console) Stoppable(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unwatchOut := c.Streams.WatchOut(cancel)
	ctx, unwatch := c.Interruptible(ctx)
	return ctx, func() {
		unwatch()
		unwatchOut()
		cancel(nil)
	}
}

// Interruptible returns a context that ends with the first signal to stop, which is
// its cause.
func (c *Console) Interruptible(ctx context.Context) (_ context.Context, stop func()) {
	return c.InterruptibleBy(ctx, func(os.Signal) bool { return true })
}

// InterruptibleBy is like Interruptible, but drops signals that do not count.
func (c *Console) InterruptibleBy(ctx context.Context, counts func(os.Signal) bool) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, unwatch := c.Signals()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case sig := <-signals:
				if !counts(sig) {
					continue
				}
				cancel(&exit.SignalError{Signal: sig, Code: StopSignals[sig]})
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
		unwatch()
	}
}

// Impatient calls f, which should end with ctx. If a slow reader of stdout
// keeps f from that, Impatient returns without it.
func Impatient(ctx context.Context, f func() error) error {
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

// TwoSignals returns two contexts: the first signal ends the first one, and is its
// cause; the second signal ends both.
func (c *Console) TwoSignals(ctx context.Context) (first, second context.Context, stop func()) {
	second, kill := context.WithCancelCause(ctx)
	first, cancel := context.WithCancelCause(second)
	signals, unwatch := c.Signals()
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for _, end := range []context.CancelCauseFunc{cancel, kill} {
			select {
			case sig := <-signals:
				end(&exit.SignalError{Signal: sig, Code: StopSignals[sig]})
			case <-over:
				return
			}
		}
	}()
	return first, second, func() {
		close(over)
		<-ended
		unwatch()
		cancel(nil)
		kill(nil)
	}
}
