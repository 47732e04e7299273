package runner

import (
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
)

// run takes the task through its life and returns when it will never run
// again, or is left to itself.
func (t *task) run() {
	for again := (recovery{t}).resume(); ; {
		for again {
			again = t.runOnce()
		}
		if t.isLeft() {
			t.leave()
			return
		}
		if t.progress.Step != stepDone {
			t.move(stepDone, func() { t.apply(dead, nil) })
		}
		if t.stage == lifecycle.Poststop {
			break
		}
		reason, revived := t.park()
		if !revived && t.isLeft() {
			t.leave()
			return
		}
		if !revived {
			break
		}
		again = t.decide(restart.End{Requested: true}, nil, event.RestartSignaled(reason))
		t.alloc.post(t.alloc.revivals.remove)
	}
	t.hooks.stop()
	t.alloc.post(func() {
		select {
		case <-t.revive: // it was killed before it could start again
			t.alloc.revivals.remove()
		default:
		}
		t.happens(lifecycle.Ends)
		t.touch()
		t.leaves()
	})
}

// leave leaves the task as it is, for an engine to come.
func (t *task) leave() {
	t.hooks.shutdown()
	t.alloc.post(func() { t.leaves(); t.alloc.left++ })
}

// park waits, dead, for the end of the allocation. It reports whether the task
// is to be started again, because the whole allocation is, and why.
func (t *task) park() (reason string, revived bool) {
	t.alloc.post(func() { t.happens(lifecycle.Parks) })
	select {
	case <-t.killed.Done():
	case <-t.alloc.leaving.Done():
	case reason := <-t.revive:
		return reason, true
	}
	return "", false
}
