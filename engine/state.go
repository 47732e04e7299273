package engine

import (
	"context"
	"sync"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// state is what the events of this engine come to, and who waits for the next
// change of something. It takes an event in before a subscriber gets it, so an
// order that has returned is part of it.
type state struct {
	mu      sync.Mutex
	run     *fold.Run
	indexes *fold.Indexes
	waiting map[fold.Topic]*waiters
}

// waiters wait for the next change of a topic.
type waiters struct {
	changed chan struct{}
	n       int
}

func newState() *state {
	return &state{run: fold.New(nil), indexes: fold.NewIndexes(), waiting: map[fold.Topic]*waiters{}}
}

// observe takes an event in.
func (s *state) observe(e event.Event) {
	switch e.Body.(type) {
	case event.Output, event.Gap, event.Progress:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run.Apply(e)
	s.run.Forget(e)
	s.indexes.Apply(e, s.wake)
}

// wake wakes who waits for a change of a topic. The lock is held.
func (s *state) wake(t fold.Topic) {
	if w, ok := s.waiting[t]; ok {
		close(w.changed)
		delete(s.waiting, t)
	}
}

// leave forgets a topic for which no waiter is left.
func (s *state) leave(t fold.Topic, w *waiters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.n--; w.n == 0 && s.waiting[t] == w {
		delete(s.waiting, t)
	}
}

// Look calls f with the state of the run, which changes again when f returns.
// It must not use the engine.
func (e *Engine) Look(f func(*fold.Run)) {
	e.state.mu.Lock()
	defer e.state.mu.Unlock()
	f(e.state.run)
}

// Index returns the index of a topic.
func (e *Engine) Index(t fold.Topic) uint64 {
	e.state.mu.Lock()
	defer e.state.mu.Unlock()
	return e.state.indexes.Of(t)
}

// Await returns the index of a topic, as soon as it is greater than after or
// the time has passed. An index that is still to come is of an earlier engine:
// there is no waiting for that.
func (e *Engine) Await(ctx context.Context, t fold.Topic, after uint64, limit time.Duration) uint64 {
	s, timer := e.state, time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		index := s.indexes.Of(t)
		if after == 0 || index > after || after > s.indexes.Now {
			s.mu.Unlock()
			return index
		}
		w := s.waiting[t]
		if w == nil {
			w = &waiters{changed: make(chan struct{})}
			s.waiting[t] = w
		}
		w.n++
		s.mu.Unlock()
		select {
		case <-w.changed:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		s.leave(t, w)
		return index
	}
}
