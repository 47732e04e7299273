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
	case event.Output, event.Progress: // output has its own files; progress is not kept
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

// ask makes the owner run f, and waits for the end of the turn. If it returns
// false, the allocation is over and f did not run.
func (a *Alloc) ask(f func()) bool {
	done := make(chan struct{})
	select {
	case a.inbox <- func() { f(); a.turn.answers = append(a.turn.answers, done) }:
		<-done
		return true
	case <-a.over:
		return false
	}
}

// post makes the owner run f, and returns once its changes are stored. If the
// allocation is over, f does not run.
func (a *Alloc) post(f func()) {
	if a.recorder.Durable() {
		a.ask(f)
		return
	}
	select {
	case a.inbox <- f:
	case <-a.over:
	}
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
	t.alloc.post(func() {
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
