// Package eventer sends events of a driver's tasks to all listeners. A driver
// that embeds an Eventer is a drivers.EventSource.
package eventer

import (
	"context"
	"sync"
	"time"

	"taskrun/drivers"
)

// backlog is how many events a listener may leave unread.
const backlog = 256

// Eventer sends events to its listeners. The zero value is ready. All methods may
// be called from several goroutines at once.
type Eventer struct {
	mu        sync.Mutex
	listeners map[chan drivers.TaskEvent]struct{}
}

// TaskEvents sends every event from now on, until ctx ends. Then the channel is
// closed. A listener that leaves too many events unread loses the oldest.
func (e *Eventer) TaskEvents(ctx context.Context) (<-chan drivers.TaskEvent, error) {
	ch := make(chan drivers.TaskEvent, backlog)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listeners == nil {
		e.listeners = map[chan drivers.TaskEvent]struct{}{}
	}
	e.listeners[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.listeners, ch)
		close(ch)
	})
	return ch, nil
}

// Emit sends an event to all listeners without blocking. Nomad waits up to two seconds
// for each listener, which delays the driver and all others, and then drops the newest
// event. An event without Timestamp gets the current time.
func (e *Eventer) Emit(event drivers.TaskEvent) {
	if event.Timestamp.IsZero() {
		event.Timestamp = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for ch := range e.listeners {
		if len(ch) == backlog {
			select {
			case <-ch:
			default: // the listener has just read one
			}
		}
		ch <- event // cannot block: only Emit sends, under the lock
	}
}

// Tell emits an event of a task.
func (e *Eventer) Tell(cfg *drivers.TaskConfig, event drivers.TaskEvent) {
	event.AllocID, event.TaskName = cfg.AllocID, cfg.Name
	e.Emit(event)
}
