package ui

import (
	"context"
	"io"
	"sync"
	"time"
)

// readTime is how long a reader may still take when the user wants this process to end.
const readTime = time.Second

// Behind returns streams that take output at once and write it as fast as their
// readers read. Writes fail after the first error of a stream. The caller must call
// written in the end, which waits until all is written, but not long after ctx.
func (s *Streams) Behind() (_ *Streams, written func(ctx context.Context)) {
	q := &queue{more: make(chan struct{}, 1)}
	behind := *s
	behind.Out, behind.Err = &behindWriter{queue: q, to: s.Out}, &behindWriter{queue: q, to: s.Err}
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.write()
	}()
	return &behind, func(ctx context.Context) {
		q.close()
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		select {
		case <-done:
		case <-time.After(readTime):
		}
	}
}

// queue is output that is yet to be written, in order.
type queue struct {
	more chan struct{} // of capacity 1

	mu     sync.Mutex
	pieces []piece
	closed bool
}

// piece is output for one stream.
type piece struct {
	to   *behindWriter
	text []byte
}

// behindWriter puts the output of a stream into the queue.
type behindWriter struct {
	*queue
	to  io.Writer
	err error // of an earlier piece; guarded by the queue's mu
}

// Write never waits for a reader.
func (w *behindWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	w.pieces = append(w.pieces, piece{w, append([]byte(nil), p...)})
	w.wake()
	return len(p), nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// write writes what is in the queue until it is closed and empty.
func (q *queue) write() {
	for range q.more {
		q.mu.Lock()
		pieces, closed := q.pieces, q.closed
		q.pieces = nil
		q.mu.Unlock()
		for _, p := range pieces {
			q.put(p)
		}
		if closed {
			return
		}
	}
}

func (q *queue) put(p piece) {
	if p.to.err != nil { // only this goroutine sets it
		return
	}
	if _, err := p.to.to.Write(p.text); err != nil {
		q.mu.Lock()
		p.to.err = err
		q.mu.Unlock()
	}
}
