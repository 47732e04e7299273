package lifecycle

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forget drops the machine, restores it from the stored state, and puts the
// tasks where they were. It returns a violation of a rule, and whether the
// state is the same: a task that was let through its gate and had not started
// cannot start if its gate has closed, and only one of several pending answers
// is requested again.
func (m *model) forget() (same bool, err error) {
	same = true
	asked := m.asked
	stored, err := json.Marshal(m.Memory())
	if err != nil {
		return false, err
	}
	var memory Memory
	if err := json.Unmarshal(stored, &memory); err != nil {
		return false, err
	}
	marks := make([]Mark, len(m.tasks))
	for i := range marks {
		marks[i] = m.Mark(i)
	}
	before := m.Alloc
	m.Alloc = Restore(m.Tasks(), marks, memory)
	m.asked = 0
	if err := m.input(Input{Kind: Restored}); err != nil {
		return false, err
	}
	for i, t := range m.tasks {
		token, revived := t.token, t.revived
		t.token, t.revived = false, false
		switch {
		case t.place == waiting && !m.Alloc.tasks[i].Cancelled:
			err = m.input(Input{Kind: Waits, Task: i})
		case t.place == parked && !m.Alloc.tasks[i].Cancelled:
			err = m.input(Input{Kind: Parks, Task: i})
		case t.place == running && m.prepared && m.State() == StateInit:
			same = same && t.asked
			t.asked = true
		}
		switch {
		case t.token == token && t.revived == revived:
		case m.kill != nil, m.Alloc.tasks[i].Held, !m.State().Open(m.Alloc.tasks[i].Stage) && !t.token && t.revived == revived:
			same = false
		default:
			err = fmt.Errorf("task %d had its token: %v, now %v; was revived: %v, now %v", i, token, t.token, revived, t.revived)
		}
		if err != nil {
			return false, err
		}
	}
	// A second kill may wait for tasks for which the first one had not waited.
	if k := before.kill; k != nil && len(k.waves)+len(m.kill.waves) > 0 && (k.awaited != m.kill.awaited || len(k.waves) != len(m.kill.waves)) {
		same = false
	}
	return same && asked == m.asked, nil
}

// TestModelForgets plays lives during which the machine is restored repeatedly:
// no rule may be broken.
func TestModelForgets(t *testing.T) {
	t.Parallel()
	taken := map[string]int{}
	for seed := range uint64(walks / 4) {
		m := newModel(seed, taken)
		m.interrupt = func(int) bool { return m.rng.IntN(4) == 0 }
		if err := m.walk(); err != nil {
			t.Fatalf("walk %d: %v\n%+v\n%v", seed, err, m.Alloc.tasks, m.trace)
		}
	}
	if taken["revived"] == 0 || taken["cause: 1"] == 0 {
		t.Errorf("the walks are too short: %v", taken)
	}
}

// TestModelForgetsNothing restores the machine at every step of many lives, one
// step each time: the life must end as it would have otherwise.
func TestModelForgetsNothing(t *testing.T) {
	t.Parallel()
	compared := map[bool]int{}
	for seed := range uint64(walks / 200) {
		undisturbed := newModel(seed, map[string]int{})
		steps := 0
		undisturbed.interrupt = func(step int) bool { steps = step; return false }
		if err := undisturbed.walk(); err != nil {
			t.Fatalf("walk %d: %v", seed, err)
		}
		for at := range steps + 1 {
			m := newModel(seed, map[string]int{})
			var same bool
			m.interrupt = func(step int) bool { return step == at }
			m.interrupted = func(asItWas bool) { same = asItWas; compared[asItWas]++ }
			if err := m.walk(); err != nil {
				t.Fatalf("walk %d, restored at step %d: %v\n%v", seed, at, err, m.trace)
			}
			if diff := cmp.Diff(undisturbed.outcome(), m.outcome()); same && diff != "" {
				t.Fatalf("walk %d, restored at step %d, ended differently (-undisturbed +restored):\n%s", seed, at, diff)
			}
		}
	}
	t.Logf("%d times all was as before, %d times not", compared[true], compared[false])
	if compared[true] < 4*compared[false] {
		t.Error("too little is as it was before")
	}
}

// outcome returns how a life ended, and how many times each task ran.
func (m *model) outcome() (lines []string) {
	status, description := m.Status()
	lines = append(lines, fmt.Sprintf("%v: %s: %s", m.State(), status, description))
	for i, t := range m.Alloc.tasks {
		lines = append(lines, fmt.Sprintf("%v failed %v starts %d restarts %d", t.Phase, t.Failed, m.tasks[i].starts, m.tasks[i].tracker.Count))
	}
	return lines
}

func TestStateAsText(t *testing.T) {
	t.Parallel()
	for s := range states {
		text, err := s.MarshalText()
		var back State
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != s {
			t.Errorf("%v is read back as %v: %v", s, back, err)
		}
	}
	var s State
	if err := s.UnmarshalText([]byte("elsewhere")); err == nil {
		t.Error("a state that there is not was read")
	}
}
