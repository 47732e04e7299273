package httpapi

import (
	"context"
	"sync"

	"taskrun/engine"
	"taskrun/engine/event"
)

// outputs wakes those who follow the output of tasks. It listens to the
// output while somebody does, and only then.
type outputs struct {
	engine *engine.Engine

	mu        sync.Mutex
	followers map[outputKey]map[chan struct{}]bool
	n         int
	stop      func() // waits until nobody listens
}

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

// follow returns a channel that gets a value when there is more of an output
// than there was. The caller must leave.
func (o *outputs) follow(key outputKey) (wake <-chan struct{}, leave func()) {
	ch := make(chan struct{}, 1)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n == 0 {
		o.listen()
	}
	o.n++
	if o.followers[key] == nil {
		o.followers[key] = map[chan struct{}]bool{}
	}
	o.followers[key][ch] = true
	return ch, func() { o.leave(key, ch) }
}

func (o *outputs) leave(key outputKey, ch chan struct{}) {
	o.mu.Lock()
	delete(o.followers[key], ch)
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
	o.followers = map[outputKey]map[chan struct{}]bool{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	sub := o.engine.Subscribe(true)
	go func() {
		defer close(ended)
		defer sub.Close()
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			switch body := e.Body.(type) {
			case event.Output:
				o.wake(outputKey{e.Alloc.ID, e.Task, body.Stream})
			case event.Gap:
				o.wake(outputKey{e.Alloc.ID, e.Task, body.Stream})
			}
		}
	}()
	o.stop = func() {
		cancel()
		<-ended
	}
}

func (o *outputs) wake(key outputKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for ch := range o.followers[key] {
		select {
		case ch <- struct{}{}:
		default: // it is told already
		}
	}
}
