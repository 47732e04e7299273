package runner

import (
	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
	"taskrun/engine/restart"
)

// live takes the task through its life. It returns when the task will never run
// again, or is left running. Only the waiting is in live itself, and other
// functions do the rest: that halves the stacks of a thousand waiting goroutines.
func (t *taskRun) live() {
	for again := t.resume(); ; {
		for again {
			again = t.runOnce()
		}
		if t.isLeft() {
			t.leave()
			return
		}
		t.rest()
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
		again = t.again(reason)
	}
	t.hooks.stop()
	t.alloc.inbox.post(t.end)
}

// rest makes the task dead, unless it is.
func (t *taskRun) rest() {
	if t.progress.Step != stepDone {
		t.move(stepDone, func() { t.apply(dead, nil) })
	}
}

// again starts the task again with its whole allocation. It reports whether to
// start it.
func (t *taskRun) again(reason string) bool {
	again := t.decide(restart.End{Requested: true}, nil, event.RestartSignaled(reason))
	t.alloc.inbox.post(t.alloc.revivals.remove)
	return again
}

// end ends the task for good.
func (t *taskRun) end() {
	select {
	case <-t.revive: // killed before it could start again
		t.alloc.revivals.remove()
	default:
	}
	t.happens(lifecycle.Ends)
	t.touch()
	t.leaves()
}

// leave leaves the task running for a later engine.
func (t *taskRun) leave() {
	t.hooks.shutdown()
	t.alloc.inbox.post(func() { t.leaves(); t.alloc.left++ })
}

// park waits, with the task dead, for the end of the allocation. It reports
// whether the task should start again, because the whole allocation does, and
// why.
func (t *taskRun) park() (reason string, revived bool) {
	t.alloc.inbox.post(func() { t.happens(lifecycle.Parks) })
	select {
	case <-t.killed.Done():
	case <-t.alloc.leaving.Done():
	case reason := <-t.revive:
		return reason, true
	}
	return "", false
}
