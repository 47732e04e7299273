package cmd

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

// uiSession is a run on the full screen. One goroutine has the model and the terminal;
// others hand it functions to call.
type uiSession struct {
	console    *console.Console
	configFile string // for other commands
	at         lookup.Connection
	server     *client.Server
	own        *ownRun      // nil: leaving the screen leaves the run alone
	loop       *source.Loop // follows the run; nil: one that decides nothing

	model   *screen.Model
	term    *fullscreen.Terminal
	calls   chan func()
	ended   chan struct{}  // closed when nothing is called any more
	closing sync.WaitGroup // goroutines that end with the session

	outputs func(targets []screen.Target, tail int) followedOutput
	inspect func(context.Context, *client.Server, []*event.Alloc) bool // of services and checks, which a cluster does not report; may be nil
	feed    feed
	shown   []screen.Target // whose output is followed
	unshow  func()          // ends that; may be nil
	measure measuring
	left    bool
	away    atomic.Bool // another command has the terminal
}

// background runs f in a goroutine, and returns a function that waits for its end.
func (s *uiSession) background(f func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.term.Recover()
		f()
	}()
	return func() { <-done }
}

// start runs f in a goroutine that the session waits for.
func (s *uiSession) start(f func()) {
	s.closing.Go(func() {
		defer s.term.Recover()
		f()
	})
}

// do calls f in the goroutine of the model, unless the session has ended.
func (s *uiSession) do(ctx context.Context, f func()) {
	select {
	case s.calls <- f:
	case <-ctx.Done():
	}
}

// followedOutput is a source of output of selected tasks.
type followedOutput interface {
	Subscribe(output bool) *event.Subscription
	Follow(ctx context.Context) error
}

// ownRun is the run of "up --ui", which the user may stop by leaving the screen.
type ownRun struct {
	from     source.Source
	caught   <-chan os.Signal
	stopping bool
	alone    bool     // the user has left it in the background
	code     int      // of the first signal; 0: none
	cause    string   // who has stopped the run first
	remote   *leaving // decides about jobs in a cluster, with caught and stopping; nil: the run is here
}

// leaving passes what the user decides on the screen to the loop that follows the jobs,
// like Ctrl-C and an answer in the plain view.
type leaving struct {
	signals chan os.Signal
	answers chan string
	left    *source.LeftError // how the screen was left; nil: it was not
	failure error             // of the loop, for another reason
}

// isAway reports whether another command has the terminal.
func (s *uiSession) isAway() bool { return s.away.Load() }

// newLeaving returns what passes decisions to a loop.
func newLeaving() *leaving {
	return &leaving{signals: make(chan os.Signal), answers: make(chan string)}
}
