package files

import (
	"context"
	"sync"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
)

// Engine runs the tasks.
type Engine interface {
	Alloc(id string) (engine.Alloc, bool)
	Subscribe(output bool) *event.Subscription
	SubscribeTo(wanted func(event.Event) bool) *event.Subscription
}

// outputs wakes the followers of task output. It subscribes to the engine's
// output only while there are any.
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
	wake   chan struct{} // receives a value when there may be more output
	source event.Source  // announced last; only compared
	hold   func()        // prevents the rotation of files; nil at first
}

// follow adds a follower. The caller must call leave.
func (o *outputs) follow(key outputKey) *outputFollower {
	f := &outputFollower{wake: make(chan struct{}, 1)}
	f.wake <- struct{}{} // for the output written so far
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

// holds sets the function that protects a slow follower's files from rotation.
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

// listen follows the engine's events until stop. The caller must hold the lock.
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
			f.hold() // there is a new file
		}
		select {
		case f.wake <- struct{}{}:
		default: // it was woken already
		}
	}
}
