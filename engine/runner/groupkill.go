package runner

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
	"taskrun/engine/lifecycle"
)

// groupKill is the killing of an allocation's tasks, wave after wave.
type groupKill struct {
	event func(*task) *api.TaskEvent
	waves [][]int // still to end; the first is under way when begun is set
	begun bool
	ready bool // what comes before the first wave is done
}

func killing(t *task) *api.TaskEvent { return event.Killing(t.killTimeout()) }

// killGroup begins to kill all tasks but poststop ones, unless they are being
// killed already.
func (a *Alloc) killGroup() {
	if a.kill == nil {
		a.beginKill(killing, lifecycle.KillWaves(a.lifecycle()))
	}
}

// killOverdue ends the allocation because of its max_run_duration. Nothing may
// go on after that, so poststop tasks are killed as well, and first.
func (a *Alloc) killOverdue() {
	waves := lifecycle.KillWaves(a.lifecycle())
	if late := a.stageTasks(lifecycle.Poststop); len(late) > 0 {
		waves = append([][]int{late}, waves...)
	}
	a.beginKill(func(t *task) *api.TaskEvent {
		return event.KillingBecause(overdue, t.killTimeout())
	}, waves)
}

// killAtOnce kills every task in one wave, without any delay.
func (a *Alloc) killAtOnce() {
	all := make([]int, len(a.tasks))
	for i := range all {
		all[i] = i
	}
	a.kill = &groupKill{event: killing, waves: [][]int{all}, ready: true}
}

// overdue is the description of an allocation that ran for too long.
const overdue = "allocation exceeded max_run_duration"

func (a *Alloc) beginKill(e func(*task) *api.TaskEvent, waves [][]int) {
	k := &groupKill{event: e, waves: waves}
	a.kill = k
	a.children.Go(func() {
		a.prekill()
		a.shutdownDelay()
		a.post(func() { k.ready = true })
	})
}

func (a *Alloc) stageTasks(stage lifecycle.Stage) (indexes []int) {
	for i, t := range a.tasks {
		if t.stage == stage {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// shutdownDelay waits for the group's shutdown_delay, but no longer than there
// are tasks.
func (a *Alloc) shutdownDelay() {
	d := a.cfg.Group.ShutdownDelay
	if d == nil || *d <= 0 {
		return
	}
	timer := time.NewTimer(*d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.over:
	case <-a.hard.Done():
	}
}

// advanceKill begins the next wave once the last one has ended.
func (a *Alloc) advanceKill() {
	k := a.kill
	if k == nil || !k.ready {
		return
	}
	for len(k.waves) > 0 {
		if !k.begun {
			k.begun = true
			for _, i := range k.waves[0] {
				a.tasks[i].kill(k.event)
			}
		}
		for _, i := range k.waves[0] {
			if !a.tasks[i].ended {
				return
			}
		}
		k.waves, k.begun = k.waves[1:], false
	}
}

// kill tells the task to end for good, with an event if it has not ended yet
// and was not told before.
func (t *task) kill(e func(*task) *api.TaskEvent) {
	if t.state.State != dead && !t.told {
		t.told = true
		t.apply("", e(t))
	}
	t.cancel()
}
