package tasklog

import (
	"bytes"
	"sync"

	"taskrun/engine/leaf/event"
)

// ringSize bounds the memory of one Log, in bytes.
const ringSize = 1 << 20

// pieceCost is the size of a piece without its data, in bytes.
const pieceCost = 128

// ring holds pieces of output that are not on disk, as long as they are retained.
// Beyond ringSize it drops the oldest.
type ring struct {
	mu     sync.Mutex
	held   int
	pieces []*piece // oldest first; some of them released
}

// piece is an event.Source in memory. It is guarded by its ring's lock.
type piece struct {
	ring *ring
	refs int
	data []byte // nil when released or overwritten
}

// put copies p into a piece that the caller releases.
func (r *ring) put(p []byte) *piece {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := &piece{ring: r, refs: 1, data: append([]byte(nil), p...)}
	r.held += len(p) + pieceCost
	r.pieces = append(r.pieces, e)
	for len(r.pieces) > 1 && (r.held > ringSize || r.pieces[0].data == nil) {
		r.pieces[0].free()
		r.held -= pieceCost
		r.pieces[0] = nil
		r.pieces = r.pieces[1:]
	}
	return e
}

func (e *piece) free() {
	e.ring.held -= len(e.data)
	e.data = nil
}

// ReadAt returns event.ErrOverwritten when the piece is gone.
func (e *piece) ReadAt(p []byte, off int64) (int, error) {
	e.ring.mu.Lock()
	defer e.ring.mu.Unlock()
	if e.data == nil {
		return 0, event.ErrOverwritten
	}
	return bytes.NewReader(e.data).ReadAt(p, off)
}

// Retain keeps the piece until it is released as often.
func (e *piece) Retain() {
	e.ring.mu.Lock()
	defer e.ring.mu.Unlock()
	e.refs++
}

// Release undoes one Retain. The last one drops the piece.
func (e *piece) Release() {
	e.ring.mu.Lock()
	defer e.ring.mu.Unlock()
	if e.refs--; e.refs == 0 {
		e.free()
	}
}
