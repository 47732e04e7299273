package engine

import (
	"context"
	"sync"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// State is the fold of an engine's events. It observes each event before any
// subscriber, so it includes the effect of an order that has returned.
type State struct {
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

func newState() *State {
	return &State{run: fold.New(nil), indexes: fold.NewIndexes(), waiting: map[fold.Topic]*waiters{}}
}

// observe adds an event.
func (s *State) observe(e event.Event) {
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

// wake wakes the goroutines that wait for a change of a topic. The caller must
// hold the lock.
func (s *State) wake(t fold.Topic) {
	if w, ok := s.waiting[t]; ok {
		close(w.changed)
		delete(s.waiting, t)
	}
}

// join returns the waiters of a topic, with one more. The caller must hold the
// lock, and call leave unless the topic changes.
func (s *State) join(t fold.Topic) *waiters {
	w := s.waiting[t]
	if w == nil {
		w = &waiters{changed: make(chan struct{})}
		s.waiting[t] = w
	}
	w.n++
	return w
}

// leave removes a topic without waiters.
func (s *State) leave(t fold.Topic, w *waiters) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.n--; w.n == 0 && s.waiting[t] == w {
		delete(s.waiting, t)
	}
}

// rise lets no index be lower than the given one.
func (s *State) rise(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes.Rise(index)
}

// Look calls f with the state of the run. The state cannot change until f
// returns, so f must not use the engine.
func (s *State) Look(f func(*fold.Run)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.run)
}

// announced reports whether an event has announced the allocation with an ID.
func (s *State) announced(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run.Find(id) != nil
}

// Index returns the index of a topic.
func (s *State) Index(t fold.Topic) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.indexes.Of(t)
}

// Wait returns the index of a topic once it is greater than after, or once
// limit has passed. If after is greater than any index so far, it comes from an
// earlier engine, and Wait returns at once.
func (s *State) Wait(ctx context.Context, t fold.Topic, after uint64, limit time.Duration) uint64 {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		index := s.indexes.Of(t)
		if after == 0 || index > after || after > s.indexes.Now {
			s.mu.Unlock()
			return index
		}
		w := s.join(t)
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
