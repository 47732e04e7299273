package event

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxRetained limits the unread output, in bytes, that is kept for a
// subscriber; beyond it, output is dropped. This limits the disk space of
// rotated files that a subscriber has yet to read.
const maxRetained = 1 << 30

// maxQueued limits the unread pieces of output of a subscriber.
const maxQueued = 1 << 18

// Bus numbers events and delivers them to its subscribers. The zero value is
// ready. All methods are safe for concurrent use; publishing never waits for a
// subscriber.
type Bus struct {
	// Observe, if set, is called with each event before any subscriber gets it.
	// Calls are not concurrent. It must not use the bus.
	Observe func(Event)
	// Reserve, if set, is called before an event gets a number above the last
	// result of Reserve, which is the limit of the numbers that events get
	// without another call. Calls are not concurrent. It must not use the bus.
	Reserve func(seq uint64) (limit uint64)

	mu       sync.Mutex
	seq      uint64
	reserved uint64
	subs     []*Subscription
	closed   bool
}

// ErrClosed is the error of a change after the bus was closed.
var ErrClosed = errors.New("the engine has ended")

// Publish publishes an event that happened now, and returns its number.
func (b *Bus) Publish(alloc *Alloc, task string, body Body) uint64 {
	return b.PublishAt(time.Now(), alloc, task, body)
}

// PublishAt publishes an event with a time, and returns its number.
func (b *Bus) PublishAt(at time.Time, alloc *Alloc, task string, body Body) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.send(Event{Seq: b.next(), Time: at, Alloc: alloc, Task: task, Body: body})
	}
	return b.seq
}

// next returns the number of the next event. The caller must hold the lock.
func (b *Bus) next() uint64 {
	b.seq++
	if b.Reserve != nil && b.seq > b.reserved {
		b.reserved = b.Reserve(b.seq)
	}
	return b.seq
}

// Last returns the number of the latest event.
func (b *Bus) Last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seq
}

// send delivers an event. The caller must hold the lock.
func (b *Bus) send(e Event) {
	if b.Observe != nil {
		b.Observe(e)
	}
	for _, s := range b.subs {
		s.push(e)
	}
}

// Commit numbers events, calls keep, if not nil, to store them, and then sends
// them in a row. keep must not use the bus.
func (b *Bus) Commit(events []Event, keep func(events []Event)) {
	_ = b.TryCommit(events, func(events []Event) error { // a closed bus needs no events
		if keep != nil {
			keep(events)
		}
		return nil
	})
}

// TryCommit is Commit, but sends nothing if keep fails or the bus is closed.
func (b *Bus) TryCommit(events []Event, keep func(events []Event) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	for i := range events {
		events[i].Seq = b.next()
	}
	if err := keep(events); err != nil {
		return err
	}
	for _, e := range events {
		b.send(e)
	}
	return nil
}

// Restore sends past events, which an earlier bus has numbered, in the order of
// their numbers, to the current subscribers. Numbering continues after last.
func (b *Bus) Restore(past []Event, last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq = max(b.seq, last)
	for _, e := range past {
		b.seq = max(b.seq, e.Seq)
		b.send(e)
	}
}

// Subscribe returns a subscription to all events from now on. Without output,
// it omits Output, Gap and Progress.
func (b *Bus) Subscribe(output bool) *Subscription { return b.subscribe(output, nil) }

// SubscribeTo returns a subscription to the events from now on that wanted
// accepts, including a Gap for dropped output. wanted is called while events
// are published, not concurrently, and must not use the bus.
func (b *Bus) SubscribeTo(wanted func(Event) bool) *Subscription { return b.subscribe(true, wanted) }

func (b *Bus) subscribe(output bool, wanted func(Event) bool) *Subscription {
	s := &Subscription{bus: b, output: output, wanted: wanted, wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		s.ended = true
	} else {
		b.subs = append(b.subs, s)
	}
	return s
}

// Close ends the bus: subscribers read the queued events, then see the end.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subs {
		s.end()
	}
	b.subs = nil
}

func (b *Bus) remove(s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = slices.DeleteFunc(b.subs, func(other *Subscription) bool { return other == s })
}

// Subscription is a reader's queue of events. Next and Close must not be called
// concurrently.
type Subscription struct {
	bus    *Bus
	output bool
	wanted func(Event) bool // nil: all
	held   Source           // of the last event returned by Next
	batch  []Event
	next   int // index into batch

	mu       sync.Mutex
	queue    []Event
	pieces   int   // pieces of output in queue
	retained int64 // bytes of output in queue
	gaps     map[gapKey]int
	ended    bool
	wake     chan struct{}
}

type gapKey struct {
	alloc  *Alloc
	task   string
	stream Stream
}

// Next returns the next event, or false if there will be none or ctx has ended.
// The bytes of an Output are valid until the next call of Next or Close.
func (s *Subscription) Next(ctx context.Context) (Event, bool) {
	s.release()
	for s.next == len(s.batch) {
		if s.refill() {
			break
		}
		s.mu.Lock()
		ended := s.ended && len(s.queue) == 0
		s.mu.Unlock()
		if ended {
			return Event{}, false
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return Event{}, false
		}
	}
	e := s.batch[s.next]
	s.batch[s.next] = Event{}
	s.next++
	if out, ok := e.Body.(Output); ok {
		s.held = out.Source
	}
	return e, true
}

// Ready reports whether Next would return without waiting.
func (s *Subscription) Ready() bool {
	if s.next < len(s.batch) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || s.ended
}

// Finish ends the subscription once the currently queued events have been read.
// It is safe for concurrent use.
func (s *Subscription) Finish() {
	s.bus.remove(s)
	s.end()
}

// Close discards queued events and ends the subscription.
func (s *Subscription) Close() {
	s.bus.remove(s)
	s.end()
	s.release()
	for {
		for ; s.next < len(s.batch); s.next++ {
			if out, ok := s.batch[s.next].Body.(Output); ok {
				out.Source.Release()
			}
		}
		if !s.refill() {
			return
		}
	}
}

func (s *Subscription) release() {
	if s.held != nil {
		s.held.Release()
		s.held = nil
	}
}

// refill takes over the queue, so that the lock is needed only once per batch.
func (s *Subscription) refill() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return false
	}
	s.batch, s.queue = s.queue, s.batch[:0]
	s.next, s.pieces, s.retained, s.gaps = 0, 0, 0, nil
	return true
}

func (s *Subscription) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.signal()
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// push appends an event. The bus must be locked, which keeps the order.
func (s *Subscription) push(e Event) {
	out, isOutput := e.Body.(Output)
	_, isProgress := e.Body.(Progress)
	if !s.output && (isOutput || isProgress) || s.wanted != nil && !s.wanted(e) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if isOutput {
		s.pushOutput(e, out)
	} else {
		s.queue = append(s.queue, e)
	}
	s.signal()
}

func (s *Subscription) pushOutput(e Event, out Output) {
	if s.retained+out.Length > maxRetained || s.pieces >= maxQueued {
		s.skip(e, out)
		return
	}
	s.retained += out.Length
	if n := len(s.queue); n > 0 {
		// A piece directly after another one is merged with it: a flood of
		// output from one task costs one event, however slow the reader is.
		last := &s.queue[n-1]
		if prev, ok := last.Body.(Output); ok && last.Alloc == e.Alloc && last.Task == e.Task &&
			prev.Source == out.Source && prev.Stream == out.Stream && prev.Offset+prev.Length == out.Offset {
			prev.Length += out.Length
			last.Body = prev
			return
		}
	}
	out.Source.Retain()
	s.pieces++
	s.queue = append(s.queue, e)
}

// skip counts a dropped piece in the Gap that replaces it.
func (s *Subscription) skip(e Event, out Output) {
	key := gapKey{e.Alloc, e.Task, out.Stream}
	if i, ok := s.gaps[key]; ok {
		g := s.queue[i].Body.(Gap)
		g.Bytes += out.Length
		s.queue[i].Body = g
		return
	}
	if s.gaps == nil {
		s.gaps = make(map[gapKey]int)
	}
	s.gaps[key] = len(s.queue)
	e.Body = Gap{Stream: out.Stream, Bytes: out.Length}
	s.queue = append(s.queue, e)
}
