package files

import (
	"context"
	"sync"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Engine is what runs the tasks.
type Engine interface {
	Alloc(id string) (engine.Alloc, bool)
	Subscribe(output bool) *event.Subscription
	SubscribeTo(wanted func(event.Event) bool) *event.Subscription
}

// outputs wakes those who follow the output of tasks. It subscribes to the
// output of the engine only while there are any.
type outputs struct {
	engine Engine

	mu        sync.Mutex
	followers map[outputKey]map[*outputFollower]bool
	n         int
	stop      func() // ends the subscription
}

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

// outputFollower follows an output in its files.
type outputFollower struct {
	wake   chan struct{} // gets a value when there may be more than there was
	source event.Source  // that was announced last; only compared
	hold   func()        // keeps files from rotation; nil at first
}

// follow adds a follower, which must leave.
func (o *outputs) follow(key outputKey) *outputFollower {
	f := &outputFollower{wake: make(chan struct{}, 1)}
	f.wake <- struct{}{} // for what was written until now
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == 0 {
		o.listen()
	}
	o.n++
	if o.followers[key] == nil {
		o.followers[key] = map[*outputFollower]bool{}
	}
	o.followers[key][f] = true
	return f
}

// holds has a follower's files held from now on, however slowly it reads.
func (o *outputs) holds(f *outputFollower, hold func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f.hold = hold
	hold()
}

func (o *outputs) leave(key outputKey, f *outputFollower) {
	o.mu.Lock()
	delete(o.followers[key], f)
	if len(o.followers[key]) == 0 {
		delete(o.followers, key)
	}
	stop := func() {}
	if o.n--; o.n == 0 {
		stop = o.stop
	}
	o.mu.Unlock()
	stop()
}

// listen follows the engine's events until stop. The lock is held.
func (o *outputs) listen() {
	o.followers = map[outputKey]map[*outputFollower]bool{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	sub := o.engine.Subscribe(true)
	go func() {
		defer close(ended)
		defer sub.Close()
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			switch body := e.Body.(type) {
			case event.Output:
				o.wake(outputKey{e.Alloc.ID, e.Task, body.Stream}, body.Source)
			case event.Gap:
				o.wake(outputKey{e.Alloc.ID, e.Task, body.Stream}, nil)
			}
		}
	}()
	o.stop = func() {
		cancel()
		<-ended
	}
}

func (o *outputs) wake(key outputKey, source event.Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f := range o.followers[key] {
		if source != f.source && f.hold != nil {
			f.source = source
			f.hold() // a file is new
		}
		select {
		case f.wake <- struct{}{}:
		default: // it has yet to look
		}
	}
}
