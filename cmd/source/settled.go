package source

import (
	"context"
	"slices"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Settled is the run of an engine in virtual time. It sends the events of an instant
// when all of them have happened, in an order that does not depend on which goroutine
// was first: to those that decide, and when they have decided, to the screen.
type Settled struct {
	*Here
	settle            func()
	from              *event.Subscription
	deciding, showing event.Bus
}

// NewSettled returns the run of an engine that has no jobs yet. Settle returns when
// everything that happens now has happened.
func NewSettled(e *engine.Engine, settle func()) *Settled {
	h := NewHere(e)
	return &Settled{Here: h, settle: settle, from: h.Subscribe(true)}
}

// Subscribe returns the events of the run; those with output are for the screen.
func (s *Settled) Subscribe(output bool) *event.Subscription {
	if output {
		return s.showing.Subscribe(true)
	}
	return s.deciding.Subscribe(false)
}

// Follow waits until all jobs have ended, and closes the engine.
func (s *Settled) Follow(ctx context.Context) error {
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.send(ctx)
	}()
	err := s.Here.Follow(ctx)
	<-sent
	return err
}

func (s *Settled) send(ctx context.Context) {
	defer s.showing.Close()
	defer s.deciding.Close()
	defer s.from.Close()
	var canon event.Canon
	for {
		instant := s.next(ctx)
		if len(instant) == 0 {
			return
		}
		instant = canon.Sort(instant)
		s.deciding.Commit(slices.Clone(instant), nil)
		s.settle()
		s.showing.Commit(instant, nil)
		for _, e := range instant {
			if out, ok := e.Body.(event.Output); ok {
				out.Source.Release()
			}
		}
	}
}

// next returns what happens at the next instant, nothing after the end. Its output is
// retained.
func (s *Settled) next(ctx context.Context) (instant []event.Event) {
	for e, ok := s.from.Next(ctx); ok; e, ok = s.from.Next(ctx) {
		if out, ok := e.Body.(event.Output); ok {
			out.Source.Retain()
		}
		instant = append(instant, e)
		if s.settle(); !s.from.Ready() {
			break
		}
	}
	return instant
}
