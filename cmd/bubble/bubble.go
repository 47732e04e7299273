// Package bubble runs functions in virtual time: a clock that jumps to the next
// timer as soon as every goroutine waits. It is the only package that imports
// testing outside tests, because testing/synctest needs a test to run in.
//
// Inside a bubble nothing may wait for the outside world: no socket, no child, no
// signal, no file watcher, no channel that was made outside. Files may be read and
// written. A goroutine that waits for the outside stops the clock, see StalledError.
package bubble

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Begin is the time of the clock when a function is called.
var Begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Limits are the bounds of one function.
type Limits struct {
	Virtual time.Duration // of virtual time; 0: seven days
	Still   time.Duration // real time for which the clock may stand still; 0: five seconds
}

const (
	beat  = time.Minute     // virtual time between two looks at the real clock and ctx
	grace = 2 * time.Second // real time in which a function must end after its context
)

// mu lets one function run at a time. spoiled is why there can be no other one in
// this process.
var (
	mu      sync.Mutex
	spoiled error
)

// Run calls f in a new bubble and returns its error. Only one bubble exists at a
// time. The context of f ends when its virtual time is up (LimitError), and soon
// after ctx: the bubble checks ctx once per virtual minute. f must return then,
// after every goroutine that it has started has ended (LeftoverError).
//
// After a StalledError, or if f does not return after the end of its context, f is
// still running: the process must end, and further calls of Run fail.
func Run(ctx context.Context, limits Limits, f func(context.Context) error) error {
	mu.Lock()
	defer mu.Unlock()
	if spoiled != nil {
		return fmt.Errorf("an earlier function has not ended: %w", spoiled)
	}
	b := &bubble{outside: ctx, limit: cmp.Or(limits.Virtual, 7*24*time.Hour), f: f, ended: make(chan error, 1)}
	entrance() <- func(t *testing.T) { b.ended <- b.enter(t) }
	ended, err := b.watch(cmp.Or(limits.Still, 5*time.Second))
	if !ended {
		spoiled = err
	}
	return err
}

// bubble is a function in virtual time.
type bubble struct {
	outside context.Context
	limit   time.Duration
	f       func(context.Context) error
	id      atomic.Int64 // the runtime's number of it
	clock   atomic.Int64 // the virtual time of the last beat, in Unix nanoseconds
	ended   chan error
}

// enter calls the function, and returns after the last goroutine of the bubble.
func (b *bubble) enter(t *testing.T) (err error) {
	defer func() {
		v := recover() // the runtime refuses to leave goroutines behind
		if v == nil {
			return
		}
		if left := goroutinesOf(b.id.Load()); len(left) > 0 {
			err = &LeftoverError{Goroutines: left, Err: err}
		} else {
			err = fmt.Errorf("cannot enter virtual time: %v", v)
		}
	}()
	synctest.Test(t, func(*testing.T) { err = b.run() })
	return err
}

func (b *bubble) run() (err error) {
	b.id.Store(current())
	time.Sleep(time.Until(Begin)) //nolint:forbidigo // the clock of a bubble begins in 2000, and jumps
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(b.outside))
	defer cancel(nil)
	ctx, expire := context.WithTimeoutCause(ctx, b.limit, &LimitError{b.limit})
	defer expire()
	over := make(chan struct{})
	defer close(over)
	go b.beat(cancel, over)
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return b.f(ctx)
}

// beat shows the clock to the watchdog and ends the function with the outer context,
// for which it cannot wait.
func (b *bubble) beat(cancel context.CancelCauseFunc, over <-chan struct{}) {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for {
		b.clock.Store(time.Now().UnixNano())
		if b.outside.Err() != nil {
			cancel(context.Cause(b.outside))
		}
		select {
		case <-beats.C:
		case <-over:
			return
		}
	}
}

// watch waits for the end of the function. It gives up if the clock stands still,
// or if the function does not return after the end of its context.
func (b *bubble) watch(patience time.Duration) (ended bool, err error) {
	dog := watchdog{}
	look := time.NewTicker(patience / looks)
	defer look.Stop()
	canceled := b.outside.Done()
	var enough <-chan time.Time
	for {
		select {
		case err := <-b.ended:
			return true, err
		case <-canceled:
			canceled, enough = nil, time.After(grace)
		case <-enough:
			if err := context.Cause(b.outside); err != nil {
				return false, err
			}
			return false, &LimitError{b.limit}
		case <-look.C:
			clock := time.Unix(0, b.clock.Load())
			if enough == nil && clock.Sub(Begin) > b.limit {
				enough = time.After(grace)
			}
			if stuck := dog.look(clock, func() []Goroutine { return goroutinesOf(b.id.Load()) }); stuck != nil {
				return false, &StalledError{After: clock.Sub(Begin), Goroutines: stuck}
			}
		}
	}
}

// Settle waits until all other goroutines of the bubble wait as well: everything that
// happens at this instant has happened. Only one goroutine may call it at a time.
func Settle() { synctest.Wait() }

// Sleep lets virtual time pass, and everything of the instant at its end happen. It
// returns early with the cause of ctx. Only one goroutine may call it at a time.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	synctest.Wait()
	return context.Cause(ctx)
}
