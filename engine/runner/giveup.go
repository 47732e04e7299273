package runner

import (
	"fmt"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/lifecycle"
)

// giveUpTime is how long a hook or a driver may take to return when its task, or
// the allocation, was killed. Nothing waits for it any longer.
const giveUpTime = 5 * time.Second

// errGivenUp is the error of a hook that has not returned.
var errGivenUp = fmt.Errorf("it has not returned %v after the kill", giveUpTime)

// within returns the result of f, or errGivenUp when f has not returned
// giveUpTime after killed was closed, or after the call if that is later. What
// f has a hold of is then its own.
func within(killed <-chan struct{}, f func() error) error {
	result := make(chan error, 1)
	go func() { result <- f() }()
	select {
	case err := <-result:
		return err
	case <-killed:
	}
	timer := time.NewTimer(giveUpTime)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case <-timer.C:
		return errGivenUp
	}
}

// giveUp ends the tasks that a hook or a driver has kept from ending. It reports
// whether there were any.
func (a *Alloc) giveUp() (late bool) {
	for _, t := range a.tasks {
		if t.gone {
			continue
		}
		late = true
		if t.state.State != dead {
			t.apply(dead, event.DriverFailure(fmt.Errorf("gave up: a hook or the driver of the task has not returned %v after the kill", giveUpTime)))
		}
		t.happens(lifecycle.Ends)
		t.leaves()
	}
	return late
}

// leaves takes in that nothing more is to come of the task.
func (t *task) leaves() {
	t.gone = true
	t.alloc.gone++
}

// finish calls what is to be done at the end, and gives it up in time when the
// allocation is killed.
func (a *Alloc) finish(what string, f func()) {
	err := within(a.hard.Done(), func() error { f(); return nil })
	if err != nil {
		a.publishNow(time.Now(), "", event.Notice{Text: fmt.Sprintf("gave up the %s hooks of allocation %s: %v", what, a.cfg.Alloc.Name, err)})
	}
}
