package event

import (
	"io"
	"sync/atomic"
)

// Pieces publishes output that is in memory to the one subscriber of a bus that
// wants output, so much at a time: a slow subscriber holds back the publisher.
type Pieces struct{ places chan struct{} }

// NewPieces returns what lets so many pieces wait to be shown.
func NewPieces(most int) *Pieces { return &Pieces{make(chan struct{}, most)} }

// Publish sends a piece as soon as there is a place for it, or not at all when
// stopped is closed before. The text belongs to it from then on.
func (p *Pieces) Publish(bus *Bus, alloc *Alloc, task string, stream Stream, text []byte, stopped <-chan struct{}) {
	select {
	case p.places <- struct{}{}:
	case <-stopped:
		return // there is no reader any more
	}
	piece := &piece{text: text, places: p.places}
	bus.Publish(alloc, task, Output{Stream: stream, Source: piece, Length: int64(len(text))})
	if !piece.retained.Load() {
		piece.Release()
	}
}

// piece is some output, which has a place until it was shown.
type piece struct {
	text     []byte
	places   chan struct{}
	retained atomic.Bool
}

func (p *piece) ReadAt(b []byte, off int64) (int, error) {
	n := copy(b, p.text[min(off, int64(len(p.text))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Retain is called once, for there is one subscription; or never when that has
// ended.
func (p *piece) Retain() { p.retained.Store(true) }

// Release gives the place back.
func (p *piece) Release() { <-p.places }
