package view

import (
	"time"

	"taskrun/cmd/prose"
)

// A run with more than manyTasks tasks, or as many allocations, is a large one.
// If a step happens to more than maxSteps tasks of it within a second, the others
// are counted.
const (
	manyTasks = 20
	maxSteps  = 3
)

// tallyTime is how long steps are counted before a line shows their number.
const tallyTime = time.Second

// tally counts the steps that many tasks or allocations of a large run share. It
// reads no clock: a second begins with the time of an event.
type tally struct {
	begin    time.Time // of the current second or, if it has ended, of the last one
	counting bool      // a second has begun
	kinds    map[kind]*count
	order    []*count // of this second
}

// kind is a kind of lines that are counted together.
type kind struct {
	step string
	noun string // task or allocation
}

// count is a line about steps.
type count struct {
	kind
	at      time.Time // of the latest step
	steps   int       // in this second
	counted int       // of them, those without a line of their own
	hot     bool      // there were too many in the second before
}

func (c *count) text() string { return c.step + ": " + prose.Count(c.counted, "more "+c.noun) }

// pass lets time pass, and returns the counts of the second if it has ended.
func (t *tally) pass(to time.Time) []*count {
	if !t.counting || to.Sub(t.begin) < tallyTime {
		return nil
	}
	return t.end()
}

// take takes a step, and reports whether it has a line of its own.
func (t *tally) take(at time.Time, k kind) (own bool) {
	if !t.counting {
		if at.Sub(t.begin) >= 2*tallyTime {
			t.kinds = nil // the second before is not the last one
		}
		t.begin, t.counting = at, true
	}
	c := t.kinds[k]
	if c == nil {
		c = &count{kind: k}
		if t.kinds == nil {
			t.kinds = make(map[kind]*count)
		}
		t.kinds[k] = c
	}
	if c.steps == 0 {
		t.order = append(t.order, c)
	}
	c.steps++
	c.at = at
	if own = c.steps <= maxSteps && !c.hot; !own {
		c.counted++
	}
	return own
}

// end ends the current second and returns its counts. Steps that continue in the
// next second have no lines of their own.
func (t *tally) end() (counts []*count) {
	next := make(map[kind]*count)
	for _, c := range t.order {
		if c.counted > 0 {
			counts = append(counts, c)
		}
		if c.steps > maxSteps {
			next[c.kind] = &count{kind: c.kind, hot: true}
		}
	}
	t.counting, t.kinds, t.order = false, next, nil
	return counts
}
