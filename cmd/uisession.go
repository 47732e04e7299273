package cmd

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"taskrun/cmd/client"
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
	// settleTime is how long the selection has to rest before the output of other
	// tasks is read: the cursor passes many.
	settleTime = 60 * time.Millisecond
)

// uiSession is a run on the full screen. One goroutine has the model and the terminal;
// others hand it functions to call.
type uiSession struct {
	a      *app
	at     lookup.Connection
	server *client.Server
	own    *ownRun      // nil: leaving the screen leaves the run alone
	loop   *source.Loop // follows the run; nil: one that decides nothing

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

// run shows the model until the user leaves it, or ctx ends.
func (s *uiSession) run(ctx context.Context) error {
	defer s.term.Recover()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.feed.wake = make(chan struct{}, 1)
	s.measure.due = time.NewTimer(0)
	defer s.measure.due.Stop()
	s.model.Resize(s.term.Size())
	settled, frame, tick := time.NewTimer(0), time.NewTimer(0), time.NewTimer(tickTime)
	var drawn time.Time // the latest picture
	changed := true     // since then
	settling := true
	later := func() {
		if !changed {
			changed = true
			frame.Reset(time.Until(drawn.Add(frameTime)))
		}
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case in := <-s.term.Inputs():
			if in.Err != nil {
				return in.Err
			}
			s.input(in)
			if left, err := s.carryOut(ctx); left || err != nil {
				return err
			}
			settling = true
			settled.Reset(settleTime)
			s.measure.soon()
			changed = true
			frame.Reset(0)
			continue
		case sig := <-s.term.Signals():
			if err := s.term.Obey(sig); err != nil {
				return err
			}
		case f := <-s.calls:
			f()
			if left, err := s.carryOut(ctx); left || s.left || err != nil {
				return err
			}
			later()
			if !settling { // events that follow each other must not put it off
				settling = true
				settled.Reset(settleTime)
			}
		case sig := <-s.own.signals():
			s.own.signaled(ctx, s, sig)
			later()
		case <-s.feed.wake:
			s.measure.rouse()
			later()
		case <-tick.C:
			later()
		case <-settled.C:
			settling = false
			s.followShown(ctx)
		case <-s.measure.due.C:
			s.startMeasuring(ctx)
		case <-frame.C:
			if changed {
				s.feed.take(s.model)
				s.term.Draw(s.model.Lines(time.Now()))
				changed, drawn = false, time.Now()
				tick.Stop()
				if s.model.Moves() {
					tick.Reset(tickTime)
				}
			}
		}
	}
}

// input hands what the user did to the model.
func (s *uiSession) input(in fullscreen.Input) {
	switch {
	case in.Resize:
		s.model.Resize(s.term.Size())
		s.term.Redraw()
	case in.Mouse != nil:
		s.model.Mouse(*in.Mouse)
	case in.Pasted:
		s.model.Paste(in.Key)
	case in.Key != "":
		s.model.Key(in.Key)
	}
}

// followShown follows the output of the tasks that the model shows.
func (s *uiSession) followShown(ctx context.Context) {
	shown := s.model.Shown()
	if slices.Equal(shown, s.shown) {
		return
	}
	s.shown = shown
	if s.unshow != nil {
		s.unshow()
	}
	s.feed.clear()
	s.model.Clear()
	if len(shown) == 0 {
		s.unshow = nil
		return
	}
	ctx, s.unshow = context.WithCancel(ctx)
	s.start(func() { s.follow(ctx, shown) })
}
