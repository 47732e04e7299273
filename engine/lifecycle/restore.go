package lifecycle

import (
	"fmt"
	"slices"
)

// Memory is the state of an allocation that Restore needs, besides its tasks.
type Memory struct {
	State    State `json:"state"`
	Prepared bool  `json:"prepared,omitempty"`
	Killing  bool  `json:"killing,omitempty"`
	Ready    bool  `json:"ready,omitempty"` // Prekill was answered
	Stopped  bool  `json:"stopped,omitempty"`
	Blamed   bool  `json:"blamed,omitempty"`
	Overdue  bool  `json:"overdue,omitempty"`
	AtOnce   bool  `json:"at_once,omitempty"`
	Released bool  `json:"released,omitempty"`
}

// Mark is the state of a task that Restore needs, besides its phase.
type Mark struct {
	Cancelled bool `json:"cancelled,omitempty"`
	Told      bool `json:"told,omitempty"` // told that it is killed
	Ended     bool `json:"ended,omitempty"`
	Held      bool `json:"held,omitempty"`
}

// Memory returns the allocation's state for Restore.
func (a *Alloc) Memory() Memory {
	return Memory{
		State: a.state, Prepared: a.prepared, Killing: a.kill != nil, Ready: a.kill != nil && a.kill.ready,
		Stopped: a.stopped, Blamed: a.blamed, Overdue: a.overdue, AtOnce: a.atOnce, Released: a.released,
	}
}

// Mark returns a task's state for Restore.
func (a *Alloc) Mark(i int) Mark {
	m := &a.tasks[i]
	return Mark{Cancelled: m.Cancelled, Told: m.told, Ended: m.Ended, Held: m.Held}
}

// Restore returns the state machine of an allocation whose engine has died. The
// marks are in the order of tasks.
//
// The first input must be Restored. Then each task reports where it is: one
// that was about to start waits at its gate, a dead one parks. If Prepared was
// not reached, the preparation starts again. In StateInit, while all tasks
// start again, the caller stops those that are still running.
func Restore(tasks []Task, marks []Mark, m Memory) *Alloc {
	for i, mark := range marks {
		tasks[i].Held = mark.Held
	}
	a := NewAlloc(tasks)
	a.state, a.prepared, a.released = m.State, m.Prepared, m.Released
	a.stopped, a.blamed, a.overdue, a.atOnce = m.Stopped, m.Blamed, m.Overdue, m.AtOnce
	for i, mark := range marks {
		t := &a.tasks[i]
		t.Cancelled, t.told, t.Ended = mark.Cancelled, mark.Told, mark.Ended
		if t.Ended {
			a.ended++
		}
	}
	if m.Killing {
		a.restoreKill(m.Ready)
	}
	return a
}

// restoreKill resumes the killing of tasks. A wave has started if its tasks are
// canceled, and is over when they have ended.
func (a *Alloc) restoreKill(ready bool) {
	waves := KillWaves(a.Tasks())
	if a.overdue {
		waves = append([][]int{a.poststop()}, waves...)
	}
	a.newKill(slices.DeleteFunc(waves, func(wave []int) bool {
		return !slices.ContainsFunc(wave, func(i int) bool { return !a.tasks[i].Cancelled })
	}))
	a.kill.ready, a.kill.twice = ready, a.stopped && a.blamed
	for i := range a.tasks {
		if m := &a.tasks[i]; m.Cancelled && !m.Ended {
			m.awaited = true
			a.kill.awaited++
		}
	}
}

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the state's name.
func (s *State) UnmarshalText(text []byte) error {
	i := slices.Index(stateNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("an allocation cannot be in state %q", text)
	}
	*s = State(i)
	return nil
}
