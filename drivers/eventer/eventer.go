// Package eventer hands what a driver has to say of its tasks to everybody who
// listens. A driver embeds an Eventer and is a drivers.EventSource by that.
package eventer

import (
	"context"
	"sync"
	"time"

	"taskrun/drivers"
)

// patience is how long an event waits for a listener that does not take it, as
// in Nomad.
const patience = 2 * time.Second

// Eventer is where events come in and go out. The zero value is ready. All
// methods may be called from several goroutines at once.
type Eventer struct {
	mu        sync.Mutex
	listeners map[*listener]struct{}
}

var _ interface {
	TaskEvents(context.Context) (<-chan drivers.TaskEvent, error)
} = (*Eventer)(nil)

// TaskEvents sends every event from now on, until ctx ends, when the channel is
// closed. An event that is not taken within 2 s is lost for this listener
// alone.
func (e *Eventer) TaskEvents(ctx context.Context) (<-chan drivers.TaskEvent, error) {
	l := &listener{out: make(chan drivers.TaskEvent), news: make(chan struct{}, 1)}
	e.mu.Lock()
	if e.listeners == nil {
		e.listeners = map[*listener]struct{}{}
	}
	e.listeners[l] = struct{}{}
	e.mu.Unlock()
	go func() {
		l.run(ctx)
		e.mu.Lock()
		delete(e.listeners, l)
		e.mu.Unlock()
		close(l.out)
	}()
	return l.out, nil
}

// Emit tells everybody of an event. It waits for nobody. Without a Timestamp
// the event has happened now.
func (e *Eventer) Emit(event drivers.TaskEvent) {
	now := time.Now()
	if event.Timestamp.IsZero() {
		event.Timestamp = now
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		l.add(entry{event, now.Add(patience)})
	}
}

// Tell emits an event of a task.
func (e *Eventer) Tell(cfg *drivers.TaskConfig, event drivers.TaskEvent) {
	event.AllocID, event.TaskName, event.TaskID = cfg.AllocID, cfg.Name, cfg.ID
	e.Emit(event)
}

// listener is one who listens, with the events that it has not taken yet: those
// of the last 2 s.
type listener struct {
	out  chan drivers.TaskEvent
	news chan struct{} // of capacity 1: something was added

	mu      sync.Mutex
	waiting []entry
}

type entry struct {
	event drivers.TaskEvent
	until time.Time // lost then
}

func (l *listener) add(e entry) {
	l.mu.Lock()
	l.waiting = append(l.waiting, e)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *listener) next() (entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil // let go of what grew
		return entry{}, false
	}
	e := l.waiting[0]
	l.waiting = l.waiting[1:]
	return e, true
}

// run hands the events on, in their order, until ctx ends.
func (l *listener) run(ctx context.Context) {
	lost := time.NewTimer(patience)
	defer lost.Stop()
	for {
		e, ok := l.next()
		if !ok {
			select {
			case <-l.news:
				continue
			case <-ctx.Done():
				return
			}
		}
		lost.Reset(time.Until(e.until))
		select {
		case l.out <- e.event:
		case <-lost.C:
		case <-ctx.Done():
			return
		}
	}
}
