package onscreen

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/fullscreen"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// run shows the model until the user leaves it, or ctx ends.
func (s *Session) run(ctx context.Context) error {
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
		case sig := <-s.Own.signals():
			s.Own.signaled(ctx, s, sig)
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
func (s *Session) input(in fullscreen.Input) {
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
func (s *Session) followShown(ctx context.Context) {
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

// errLeft ends what a session follows.
var errLeft = errors.New("the screen was left")

// Show shows the run of a source until the user leaves the screen.
func (s *Session) Show(ctx context.Context, from source.Source, options screen.Options) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.Own != nil && options.Leave == nil {
		options.Leave = leaveRunning
	}
	options.Zone = time.Local
	s.model = screen.New(options)
	if s.term, err = fullscreen.Open(s.Console.Streams, s.Console.Streams.OutStyle(s.Console.Color).On); err != nil {
		return (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("use instead: taskrun attach, ps, logs")
	}
	defer s.term.Close()
	debug.SetGCPercent(uiGarbage)
	s.calls, s.ended = make(chan func()), make(chan struct{})
	loop := s.Loop
	if loop == nil {
		loop = &source.Loop{Source: from, Screen: s, Decider: verdict.New(verdict.Policy{Outlives: true}, nil)}
	}
	loop.Begin()
	following := s.background(func() {
		err := loop.Run(ctx)
		s.do(ctx, func() { s.over(err) })
	})
	err = s.run(ctx)
	close(s.ended)
	cancel(errLeft)
	following()
	s.closing.Wait()
	return err
}

// uiGarbage is how much garbage a full screen keeps, in percent of the live memory.
const uiGarbage = 50

// over shows that the run has ended, or is out of reach.
func (s *Session) over(err error) {
	if s.Own != nil && s.Own.Remote != nil && s.Own.Remote.over(err) {
		s.left = true
		return
	}
	if err == nil {
		s.model.Ended("ended")
		s.left = s.Own != nil && s.Own.stopping
		return
	}
	s.model.Ended("out of reach")
	s.model.Fail(err)
}

// Run shows events until they end.
func (s *Session) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		batch := []event.Event{e}
		for len(batch) < maxBatch && events.Ready() {
			if e, ok = events.Next(ctx); !ok {
				break
			}
			batch = append(batch, e)
		}
		s.do(ctx, func() {
			for _, e := range batch {
				s.model.Apply(e)
			}
			s.measure.rouse()
		})
	}
}

// maxBatch limits the events that are applied without a look at the keyboard.
const maxBatch = 1000

// Say shows a message.
func (s *Session) Say(text string) {
	select {
	case s.calls <- func() { s.model.Say(text) }:
	case <-s.ended:
	}
}

// SayAfter shows a message.
func (s *Session) SayAfter(_ uint64, text string) { s.Say(text) }

// Broken never receives an error: the library reports none.
func (s *Session) Broken() <-chan error { return nil }

// OfDirectory shows a run of this machine.
func (s *Session) OfDirectory(ctx context.Context, d *source.Directory, jobs []*api.Job) error {
	d.Detail = source.Events
	past, err := d.Past(ctx)
	if err != nil {
		return err
	}
	s.Server, s.Outputs = d.Server, directoryOutputs(d)
	return s.Show(ctx, d, screen.Options{Jobs: jobs, Past: past, Title: strings.Join(lookup.JobNames(d.IDs), ", ")})
}
