package event

import (
	"context"
	"sync"
	"time"
)

// maxRetained is how much unread output, in bytes, a subscriber may hold on
// to before the rest is dropped for it. It bounds the disk space that rotated
// files take while a subscriber has yet to read them.
const maxRetained = 1 << 30

// maxQueued is how many unread pieces of output a subscriber may have.
const maxQueued = 1 << 18

// Bus numbers events and hands them to its subscribers. The zero value is
// ready. All methods may be called from several goroutines at once; publishing
// never waits for a subscriber.
type Bus struct {
	// Observe, if set, is called with each event before a subscriber gets it,
	// one after another. It must not use the bus.
	Observe func(Event)

	mu     sync.Mutex
	seq    uint64
	subs   []*Subscription
	closed bool
}

// Publish sends what happened now, and returns the number of the event.
func (b *Bus) Publish(alloc *Alloc, task string, body Body) uint64 {
	return b.PublishAt(time.Now(), alloc, task, body)
}

// PublishAt sends what happened at a time, and returns the number of the event.
func (b *Bus) PublishAt(at time.Time, alloc *Alloc, task string, body Body) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.seq++
		b.send(Event{Seq: b.seq, Time: at, Alloc: alloc, Task: task, Body: body})
	}
	return b.seq
}

// send hands an event on. The lock is held.
func (b *Bus) send(e Event) {
	if b.Observe != nil {
		b.Observe(e)
	}
	for _, s := range b.subs {
		s.push(e)
	}
}

// Commit numbers events, has keep store them, unless it is nil, and then sends
// them one right behind the other. Keep must not use the bus.
func (b *Bus) Commit(events []Event, keep func(events []Event)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for i := range events {
		b.seq++
		events[i].Seq = b.seq
	}
	if keep != nil {
		keep(events)
	}
	for _, e := range events {
		b.send(e)
	}
}

// Restore sends, to those that have subscribed, events that an earlier bus had
// numbered, in the order of their numbers, and goes on behind the last number
// that it gave.
func (b *Bus) Restore(past []Event, last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq = max(b.seq, last)
	for _, e := range past {
		b.seq = max(b.seq, e.Seq)
		b.send(e)
	}
}

// Subscribe returns a subscription that gets every event from now on; with
// output false it gets no Output, no Gap and no Progress.
func (b *Bus) Subscribe(output bool) *Subscription { return b.subscribe(output, nil) }

// SubscribeTo returns a subscription that gets the events from now on that are
// wanted, and a Gap for what was dropped of their output. Wanted is called
// while events are published, one after another, and must not use the bus.
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

// Close ends the bus: subscribers read what is queued, then learn of the end.
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
	for i, other := range b.subs {
		if other == s {
			b.subs = append(b.subs[:i], b.subs[i+1:]...)
			return
		}
	}
}

// Subscription is one reader's queue of events. Next and Close are for one
// goroutine.
type Subscription struct {
	bus    *Bus
	output bool
	wanted func(Event) bool // nil: all
	held   Source           // of the event that Next returned last
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

// Next returns the next event, and false when there will be none or ctx has
// ended. The bytes of an Output may be read until Next or Close is called.
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

// Ready reports whether Next would return at once.
func (s *Subscription) Ready() bool {
	if s.next < len(s.batch) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > 0 || s.ended
}

// Finish ends the subscription once what is queued now was read. It may be
// called from any goroutine.
func (s *Subscription) Finish() {
	s.bus.remove(s)
	s.end()
}

// Close gives up what is queued and ends the subscription.
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

// refill takes over the queue, so that its lock is held once a batch.
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

// push appends an event. It is called with the bus locked, so in order.
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
		// A piece right behind the last one joins it: a flood from one task
		// costs one event, however slow the reader.
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

// skip counts a dropped piece in the Gap that stands in its place.
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
