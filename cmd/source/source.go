// Package source follows a run: in this process, or in directories of this machine,
// which an engine of another process may serve. Package cluster follows those of a
// Nomad cluster.
//
// A Source publishes the events of a run, and stops it. A Loop shows the events on a
// screen, and carries out what a verdict decides about events, signals and time. The
// two do not wait for each other: a slow reader of stdout delays no decision.
package source

import (
	"context"

	"taskrun/engine/leaf/event"
)

// Source is a run that can be followed.
type Source interface {
	// Past returns the past events, which Follow does not publish then. Without a
	// call of Past, Follow begins with them.
	Past(ctx context.Context) ([]event.Event, error)
	// Subscribe returns the events that Follow publishes, with or without output.
	// One subscription may have output.
	Subscribe(output bool) *event.Subscription
	// Follow publishes events until the run has ended, ctx has, or the run is out of
	// reach. Then it ends the subscriptions.
	Follow(ctx context.Context) error
	// Stop stops the run gracefully or kills it. It does not wait for the end.
	Stop(ctx context.Context, kill bool) error
}

// Each returns a channel of the events until the end of the subscription or ctx.
func Each(ctx context.Context, from *event.Subscription) <-chan event.Event {
	events := make(chan event.Event)
	go func() {
		defer close(events)
		for e, ok := from.Next(ctx); ok; e, ok = from.Next(ctx) {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}
