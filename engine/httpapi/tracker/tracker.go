// Package tracker follows the events of an engine and knows what clients ask for
// besides the engine's objects: the index of each change, the evaluations that
// stand for changes, and which allocation took another one's place.
package tracker

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/topic"
	"taskrun/engine/leaf/event"
)

// Alloc is what events tell of an allocation and the engine does not.
type Alloc struct {
	Created    uint64 // index
	Modified   uint64 // index
	Next       string // ID of the allocation that has taken its place
	Awaited    bool   // another one will take its place
	Evaluation string // ID of the one because of which it was placed

	ended bool
}

// Deployment is what events tell of a deployment and the engine does not.
type Deployment struct {
	Changed           time.Time
	Created, Modified uint64 // indexes
}

// Evaluation is what is known of an evaluation. There is no scheduler
// here: an evaluation stands for a change, by which clients find what came of
// it, and is complete from the beginning.
type Evaluation struct {
	ID, Job string
	Trigger string
	At      time.Time
	Index   uint64
}

// waiters wait for the next change of a topic.
type waiters struct {
	changed chan struct{}
	n       int
}

// Tracker follows the engine's events and gives each change an index. The state
// that an event tells of is there before the event. Its methods may be called
// from several goroutines at once.
type Tracker struct {
	Feed *feed.Feed // the event stream

	engine *engine.Engine
	sub    *event.Subscription
	cancel context.CancelFunc
	ended  chan struct{}

	mu          sync.Mutex
	now         uint64
	indexes     map[topic.Topic]uint64
	forgotten   uint64 // index at which something was forgotten last
	waiting     map[topic.Topic]*waiters
	allocs      map[string]*Alloc
	pruneAt     int                    // how many allocs there are when those are dropped that the engine has forgotten
	deployments map[string]*Deployment // by ID
	deployed    map[string]string      // IDs of the latest deployments of jobs
	evaluations []Evaluation           // by age
	versions    map[string]bool        // versions of jobs that were told of
	registered  map[string]uint64      // indexes of the newest versions of jobs
	adopted     map[string]uint64      // indexes of all versions of jobs, by their names
	seed        string                 // of the IDs of evaluations

	happened []feed.Occurrence // at the present index, and not in the feed yet
}

// flush hands what happened to those who read the event stream. The lock is
// held.
func (t *Tracker) flush() {
	t.Feed.Add(t.now, t.happened...)
	t.happened = nil
}

// change gives topics the present index and wakes who waits for that. The lock
// is held.
func (t *Tracker) change(topics ...topic.Topic) {
	for _, name := range topics {
		t.indexes[name] = t.now
		if w, ok := t.waiting[name]; ok {
			close(w.changed)
			delete(t.waiting, name)
		}
	}
}

// forget drops the index of what is gone, and wakes those who wait for its
// change. What has no index of its own has the present one from now on, so that
// no query waits for what is gone. The lock is held.
func (t *Tracker) forget(name topic.Topic) {
	t.change(name)
	delete(t.indexes, name)
	t.forgotten = t.now
}

// Touch gives topics a new index, which it returns.
func (t *Tracker) Touch(topics ...topic.Topic) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.change(topics...)
	return t.now
}

// Index returns the index of a topic.
func (t *Tracker) Index(name topic.Topic) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.indexOf(name)
}

func (t *Tracker) indexOf(name topic.Topic) uint64 {
	if index, ok := t.indexes[name]; ok {
		return index
	}
	return t.forgotten
}

// Wait returns the topic's index, as soon as it is greater than after or the
// time has passed. An index that is still to come is of an earlier engine: who
// sends that is answered at once.
func (t *Tracker) Wait(ctx context.Context, name topic.Topic, after uint64, limit time.Duration) uint64 {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		t.mu.Lock()
		index := t.indexOf(name)
		if after == 0 || index > after || after > t.now {
			t.mu.Unlock()
			return index
		}
		w := t.waiting[name]
		if w == nil {
			w = &waiters{changed: make(chan struct{})}
			t.waiting[name] = w
		}
		w.n++
		t.mu.Unlock()
		select {
		case <-w.changed:
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		t.leave(name, w)
		return index
	}
}

// leave forgets a topic for which nobody waits any more.
func (t *Tracker) leave(name topic.Topic, w *waiters) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.n--; w.n == 0 && t.waiting[name] == w {
		delete(t.waiting, name)
	}
}

// Terminal reports whether a client status is that of an allocation that has
// ended.
func Terminal(clientStatus string) bool {
	return clientStatus == api.AllocClientStatusComplete || clientStatus == api.AllocClientStatusFailed
}
