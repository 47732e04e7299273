// Package onscreen works with a run on the full screen: it follows the run and the
// selected output, measures tasks, and carries out what the user orders.
package onscreen

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/fullscreen"
	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

const (
	// frameTime is the least time between two pictures, unless the user waits for one.
	frameTime = 100 * time.Millisecond
	// tickTime is the time between two pictures that show how time passes.
	tickTime = time.Second
)

// Session is a run on the full screen. One goroutine has the model and the terminal;
// others hand it functions to call.
type Session struct {
	Console    *console.Console
	ConfigFile string // for other commands
	At         lookup.Connection
	Server     *client.Server
	Own        *OwnRun      // nil: leaving the screen leaves the run alone
	Loop       *source.Loop // follows the run; nil: one that decides nothing
	Outputs    func(targets []screen.Target, tail int) Output
	// Inspect publishes news of services and checks, which a cluster does not report, and
	// reports whether there are any. It may be nil.
	Inspect func(context.Context, *client.Server, []*event.Alloc) bool

	model   *screen.Model
	term    *fullscreen.Terminal
	calls   chan func()
	ended   chan struct{}  // closed after the last call
	closing sync.WaitGroup // goroutines that end with the session

	feed    feed
	shown   []screen.Target // whose output is followed
	unshow  func()          // ends that; may be nil
	measure measuring
	left    bool
	away    atomic.Bool // another command has the terminal
}

// background runs f in a goroutine, and returns a function that waits for its end.
func (s *Session) background(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.term.Recover()
		f()
	}()
	return func() { <-done }
}

// start runs f in a goroutine that the session waits for.
func (s *Session) start(f func()) {
	s.closing.Go(func() {
		defer s.term.Recover()
		f()
	})
}

// do calls f in the goroutine of the model, unless the session has ended.
func (s *Session) do(ctx context.Context, f func()) {
	select {
	case s.calls <- f:
	case <-ctx.Done():
	}
}

// Output is a source of output of selected tasks.
type Output interface {
	Subscribe(output bool) *event.Subscription
	Follow(ctx context.Context) error
}

// OwnRun is the run of "up --ui", which the user may stop by leaving the screen.
type OwnRun struct {
	From     source.Source
	Caught   <-chan os.Signal
	stopping bool
	Alone    bool     // the user has left it in the background
	Code     int      // of the first signal; 0: none
	Cause    string   // the first cause that stopped the run
	Remote   *Leaving // decides about jobs in a cluster, with caught and stopping; nil: the run is here
}

// Leaving passes what the user decides on the screen to the loop that follows the jobs,
// like Ctrl-C and an answer in the plain view.
type Leaving struct {
	Signals chan os.Signal
	answers chan string
	Left    *source.LeftError // how the screen was left; nil: it was not
	Failure error             // of the loop, for another reason
}

// IsAway reports whether another command has the terminal.
func (s *Session) IsAway() bool { return s.away.Load() }

// NewLeaving returns what passes decisions to a loop.
func NewLeaving() *Leaving {
	return &Leaving{Signals: make(chan os.Signal), answers: make(chan string)}
}
