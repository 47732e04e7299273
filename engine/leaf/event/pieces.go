package event

import (
	"bytes"
	"sync/atomic"
	"time"
)

// Pieces publishes output in memory to the only subscriber of a bus with
// output. It limits the number of queued pieces, so that a slow subscriber
// slows down the publisher.
type Pieces struct{ places chan struct{} }

// NewPieces returns a publisher with a limit of queued pieces.
func NewPieces(most int) *Pieces { return &Pieces{make(chan struct{}, most)} }

// Publish sends a piece that was read from a task at a time as soon as there is a
// place for it, or not at all when stopped is closed before. The text belongs to it
// from then on.
func (p *Pieces) Publish(bus *Bus, at time.Time, alloc *Alloc, task string, stream Stream, text []byte, stopped <-chan struct{}) {
	select {
	case p.places <- struct{}{}:
	case <-stopped:
		return // the reader is gone
	}
	piece := &piece{text: text, places: p.places}
	bus.PublishAt(at, alloc, task, Output{Stream: stream, Source: piece, Length: int64(len(text))})
	if !piece.retained.Load() {
		piece.Release()
	}
}

// piece is a piece of output. It has a place until it was shown.
type piece struct {
	text     []byte
	places   chan struct{}
	retained atomic.Bool
}

func (p *piece) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(p.text).ReadAt(b, off)
}

// Retain is called once, because there is one subscription, or never if that
// has ended.
func (p *piece) Retain() { p.retained.Store(true) }

// Release frees the place.
func (p *piece) Release() { <-p.places }
