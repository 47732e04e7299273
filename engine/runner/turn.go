package runner

import (
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/store"
)

// turn is all that comes of one thing that happened to the allocation. It is
// committed at once, and only then carried out: whatever the allocation does,
// it has told, and stored, why.
type turn struct {
	change  store.Change
	orders  []lifecycle.Effect
	verdict bool            // on the allocation's health, to be passed on
	answers []chan struct{} // closed when it is over
	tasks   []*task         // that are to be stored
}

// publish adds an event of the allocation, or of one of its tasks.
func (a *Alloc) publish(task string, body event.Body) {
	a.turn.change.Add(newEvent(time.Now(), a.cfg.Alloc, task, body))
}

// publishNow publishes an event out of turn. It may be called at any time.
func (a *Alloc) publishNow(at time.Time, task string, body event.Body) {
	switch body.(type) {
	case event.Output, event.Progress: // one has files of its own, nobody keeps the other
		a.cfg.Bus.PublishAt(at, a.cfg.Alloc, task, body)
		return
	}
	e := newEvent(at, a.cfg.Alloc, task, body)
	switch body.(type) {
	case event.Service, event.Check: // a recovered engine registers and checks anew
		if a.restored && a.recorder.Repeats(e) {
			return
		}
	}
	var c store.Change
	c.Add(e)
	a.recorder.Commit(c)
}

func newEvent(at time.Time, alloc *event.Alloc, task string, body event.Body) event.Event {
	return event.Event{Time: at, Alloc: alloc, Task: task, Body: body}
}

// commit ends the turn.
func (a *Alloc) commit() {
	t := &a.turn
	a.store()
	a.recorder.Commit(t.change)
	t.change.Reset()
	for _, order := range t.orders {
		a.carryOut(order)
	}
	t.orders = t.orders[:0]
	if t.verdict {
		t.verdict = false
		a.health.passOn()
	}
	for _, answer := range t.answers {
		close(answer)
	}
	t.answers = t.answers[:0]
}
