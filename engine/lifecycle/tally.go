package lifecycle

// Tally counts the states of an allocation's tasks. It is updated one change at
// a time, so that a rule takes as long for ten thousand tasks as for one. The
// zero value counts no tasks.
type Tally struct {
	counts [stages]struct {
		pending, running, succeeded, failed int
		held                                int // of the pending ones
	}
	// leaders that ended successfully, and failed tasks other than poststop
	// ones.
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

// Change records a change of the i-th task.
func (t *Tally) Change(i int, before, after Task) {
	t.add(i, before, -1)
	t.add(i, after, 1)
}

func (t *Tally) add(i int, task Task, n int) {
	c := &t.counts[task.Stage]
	switch {
	case task.Phase == Pending:
		c.pending += n
		if task.Held {
			c.held += n
		}
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

// starting returns how many tasks of a stage are about to start.
func (t *Tally) starting(stage Stage) int { return t.counts[stage].pending - t.counts[stage].held }

// firstFailed returns the index of the first failed task, or -1.
func (t *Tally) firstFailed() int {
	for i, failed := range t.failed {
		if failed {
			return i
		}
	}
	return -1
}

// Done reports whether every task except poststop ones is dead.
func (t *Tally) Done() bool {
	for stage := range Poststop {
		if t.live(stage) > 0 {
			return false
		}
	}
	return true
}

// Waiting returns how many tasks except poststop ones are pending.
func (t *Tally) Waiting() (n int) {
	for _, c := range t.counts[:Poststop] {
		n += c.pending
	}
	return n
}

// Dead returns how many tasks of any stage are dead.
func (t *Tally) Dead() (n int) {
	for _, c := range t.counts {
		n += c.succeeded + c.failed
	}
	return n
}

// Live returns how many tasks of any stage are not dead.
func (t *Tally) Live() (n int) {
	for stage := range stages {
		n += t.live(stage)
	}
	return n
}
