package files

import (
	"context"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Engine runs the tasks.
type Engine interface {
	Alloc(id string) (engine.Alloc, bool)
	SubscribeTo(wanted func(event.Event) bool) *event.Subscription
}

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

// includes reports whether an event is a piece of the output.
func (k outputKey) includes(e event.Event) bool {
	out, ok := e.Body.(event.Output)
	return ok && out.Stream == k.stream && e.Alloc.ID == k.alloc && e.Task == k.task
}

// wakeups returns a channel that receives a value when there may be more of an
// output, and one at first. It calls hold, which protects files from rotation, at
// first and for each new file. The caller must call stop.
func wakeups(sub *event.Subscription, hold func()) (wake <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch, ended := make(chan struct{}, 1), make(chan struct{})
	ch <- struct{}{} // for the output written so far
	hold()
	go func() {
		defer close(ended)
		var last event.Source // only compared
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			out, isOutput := e.Body.(event.Output)
			if !isOutput || out.Source != last {
				last = out.Source
				hold() // there is a new file
			}
			select {
			case ch <- struct{}{}:
			default: // it was woken already
			}
		}
	}()
	return ch, func() {
		cancel()
		<-ended
	}
}
