package lifecycle

// Tally is what the rules need to know of all tasks of an allocation together.
// It follows the tasks one change at a time, so that a rule costs the same for
// ten thousand tasks as for one. The zero value is a tally of no tasks.
type Tally struct {
	counts [stages]struct{ pending, running, succeeded, failed int }
	// leaders that ended well, and failed tasks that are not poststop.
	leaders int
	failed  []bool // by index
}

// TallyOf returns the tally of tasks.
func TallyOf(tasks []Task) Tally {
	var t Tally
	for i, task := range tasks {
		t.add(i, task, 1)
	}
	return t
}

// Change takes in that the i-th task has changed.
func (t *Tally) Change(i int, before, after Task) {
	t.add(i, before, -1)
	t.add(i, after, 1)
}

func (t *Tally) add(i int, task Task, n int) {
	c := &t.counts[task.Stage]
	switch {
	case task.Phase == Pending:
		c.pending += n
	case task.Phase == Running:
		c.running += n
	case task.Failed:
		c.failed += n
		for len(t.failed) <= i {
			t.failed = append(t.failed, false)
		}
		t.failed[i] = n > 0 && task.Stage != Poststop
	default:
		c.succeeded += n
		if task.Leader && task.Stage != Poststop {
			t.leaders += n
		}
	}
}

func (t *Tally) live(stage Stage) int { return t.counts[stage].pending + t.counts[stage].running }

// firstFailed is the index of the first failed task; -1 for none.
func (t *Tally) firstFailed() int {
	for i, failed := range t.failed {
		if failed {
			return i
		}
	}
	return -1
}

// Done reports whether every task but poststop ones is dead.
func (t *Tally) Done() bool {
	for stage := range Poststop {
		if t.live(stage) > 0 {
			return false
		}
	}
	return true
}

// Waiting is how many tasks but poststop ones are pending.
func (t *Tally) Waiting() (n int) {
	for _, c := range t.counts[:Poststop] {
		n += c.pending
	}
	return n
}

// Dead is how many tasks of any stage are dead.
func (t *Tally) Dead() (n int) {
	for _, c := range t.counts {
		n += c.succeeded + c.failed
	}
	return n
}

// Live is how many tasks of any stage are not dead.
func (t *Tally) Live() (n int) {
	for stage := range stages {
		n += t.live(stage)
	}
	return n
}
