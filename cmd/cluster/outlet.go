package cluster

import (
	"bytes"
	"context"
	"errors"
	"time"

	"taskrun/engine/leaf/event"
)

// maxPieces is the maximum number of pieces of output that wait to be shown.
const maxPieces = 64

// outlet publishes events and output.
type outlet struct {
	bus    event.Bus
	pieces *event.Pieces
}

func newOutlet() outlet { return outlet{pieces: event.NewPieces(maxPieces)} }

// Subscribe returns all events from now on, with or without output. One subscription
// may have output.
func (o *outlet) Subscribe(output bool) *event.Subscription { return o.bus.Subscribe(output) }

// Past returns no events: Follow starts with the current state.
func (o *outlet) Past(context.Context) ([]event.Event, error) { return nil, nil }

// Stop cannot stop anything.
func (o *outlet) Stop(context.Context, bool) error { return errors.ErrUnsupported }

func (o *outlet) say(text string) { o.bus.Publish(nil, "", event.Notice{Text: text}) }

// show publishes a piece of an output, which has the time of its arrival, and waits while too many are not shown yet.
func (o *outlet) show(ctx context.Context, of *output, piece []byte) {
	o.pieces.Publish(&o.bus, time.Now(), of.alloc, of.task.Name, of.stream, bytes.Clone(piece), ctx.Done())
}
