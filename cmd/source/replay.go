package source

import (
	"context"

	"taskrun/engine/leaf/event"
)

// Replay is the past of a run.
type Replay struct {
	events []event.Event
	bus    event.Bus
}

// NewReplay returns the past of a run.
func NewReplay(past []event.Event) *Replay { return &Replay{events: past} }

// Past returns all events.
func (r *Replay) Past(context.Context) ([]event.Event, error) {
	past := r.events
	r.events = nil
	return past, nil
}

// Subscribe returns the events.
func (r *Replay) Subscribe(output bool) *event.Subscription { return r.bus.Subscribe(output) }

// Follow publishes the events.
func (r *Replay) Follow(context.Context) error {
	defer r.bus.Close()
	for _, e := range r.events {
		r.bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
	}
	return nil
}

// Stop does nothing.
func (r *Replay) Stop(context.Context, bool) error { return nil }
