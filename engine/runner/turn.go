package runner

import (
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// publish adds an event of the allocation or of one of its tasks.
func (a *Alloc) publish(task string, body event.Body) {
	a.turn.change.Add(newEvent(time.Now(), a.cfg.Alloc, task, body))
}

// publishNow publishes an event outside of a turn. It is safe to call at any
// time.
func (a *Alloc) publishNow(at time.Time, task string, body event.Body) {
	switch body.(type) {
	case event.Output, event.Progress, event.Moved: // output has its own files; the others are not kept
		a.cfg.Bus.PublishAt(at, a.cfg.Alloc, task, body)
		return
	}
	e := newEvent(at, a.cfg.Alloc, task, body)
	switch body.(type) {
	case event.Service, event.Check: // a recovered engine registers and checks again
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

func (t *task) publish(body event.Body) { t.alloc.publish(t.name, body) }

// touch marks the task to be stored at the end of the turn.
func (t *task) touch() {
	if a := t.alloc; a.recorder.Durable() && !t.touched {
		t.touched = true
		a.turn.tasks = append(a.turn.tasks, t)
	}
}

// put adds a record of the task to the turn.
func (t *task) put(kind string, value any) {
	if t.alloc.recorder.Durable() {
		t.alloc.turn.change.Put(t.key(kind), value)
	}
}

// advance sets the task's progress and passes its meaning to the allocation, in
// one turn.
func (t *taskRun) advance(p progress, mean func()) {
	t.progress = p
	t.alloc.inbox.post(func() {
		t.reached = p
		t.touch()
		mean()
	})
}

// move starts a step of the task, and passes its meaning to the allocation.
func (t *taskRun) move(s step, mean func()) { t.advance(t.progress.next(s), mean) }

// save stores the task's progress without an effect on the allocation.
func (t *taskRun) save(mean func()) {
	if t.alloc.recorder.Durable() {
		t.advance(t.progress, mean)
	}
}

// dropStart deletes the record of the task's start.
func (t *task) dropStart() {
	if t.alloc.recorder.Durable() {
		t.alloc.turn.change.Drop(t.key(startKey))
		t.alloc.turn.change.Drop(t.key(handleKey))
	}
}
