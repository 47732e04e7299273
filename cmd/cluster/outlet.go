package cluster

import (
	"bytes"
	"context"
	"errors"

	"taskrun/engine/leaf/event"
)

// maxPieces is how many pieces of output may wait to be shown.
const maxPieces = 64

// outlet is where events and output are published.
type outlet struct {
	bus    event.Bus
	pieces *event.Pieces
}

func newOutlet() outlet { return outlet{pieces: event.NewPieces(maxPieces)} }

// Subscribe returns all that is published from now on; without output that is
// left out. One subscription may have it.
func (o *outlet) Subscribe(output bool) *event.Subscription { return o.bus.Subscribe(output) }

// Past returns nothing: Follow begins with how things are.
func (o *outlet) Past(context.Context) ([]event.Event, error) { return nil, nil }

// Stop cannot stop anything.
func (o *outlet) Stop(context.Context, bool) error { return errors.ErrUnsupported }

// say publishes a message of taskrun itself.
func (o *outlet) say(text string) { o.bus.Publish(nil, "", event.Notice{Text: text}) }

// show publishes a piece of an output as soon as there is a place for it.
func (o *outlet) show(ctx context.Context, of *output, piece []byte) {
	o.pieces.Publish(&o.bus, of.alloc, of.task.Name, of.stream, bytes.Clone(piece), ctx.Done())
}
