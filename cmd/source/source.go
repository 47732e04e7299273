// Package source follows a run, wherever it is: in this process, in directories
// of this machine that an engine of another process may serve, or in a cluster.
//
// A Source publishes what happens as events, and takes orders. A Loop shows the
// events on a screen, and carries out what a verdict decides about them, about
// signals and about the time. The two do not wait for each other: a slow reader
// of stdout delays no decision.
package source

import (
	"context"

	"taskrun/engine/leaf/event"
)

// Source is a run that can be followed.
type Source interface {
	// Past returns what has happened until now; Follow does not publish that any
	// more. Without a call of Past, Follow begins with it.
	Past(ctx context.Context) ([]event.Event, error)
	// Subscribe returns what Follow publishes; without output that is left out.
	// One subscription may have output.
	Subscribe(output bool) *event.Subscription
	// Follow publishes what happens until the run has ended, ctx has, or no more
	// can be learned of it. Then it ends the subscriptions.
	Follow(ctx context.Context) error
	// Stop stops the run gracefully or, with kill, at once. It does not wait for
	// the end.
	Stop(ctx context.Context, kill bool) error
}

// each hands on events until there are no more or ctx ends.
func each(ctx context.Context, from *event.Subscription) <-chan event.Event {
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
