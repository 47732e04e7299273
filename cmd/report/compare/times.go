package compare

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Names of durations.
const (
	toStart = "until it started" // since it was received
	running = "until it ended"   // since it started
	inTotal = "of the run"
)

// durations adds how much longer a task took in one of the runs. How long a task
// ran that was told to end in both says nothing.
func (c *comparison) durations(w Where, a, b *Task) {
	c.duration(w, toStart, since(a.Received, a.Started), since(b.Received, b.Started), a.Started, b.Started)
	if !a.Stopped || !b.Stopped {
		c.duration(w, running, since(a.Started, a.Ended), since(b.Started, b.Ended), a.Ended, b.Ended)
	}
}

func (c *comparison) duration(w Where, name string, a, b, atA, atB time.Duration) {
	long, short := max(a, b), min(a, b)
	if c.Factor == 0 || short < 0 || long-short < c.Least || float64(long) < c.Factor*float64(short) {
		return
	}
	c.add(Difference{Where: w, Key: Key{Duration, name}, A: rounded(a), B: rounded(b), AtA: atA, AtB: atB})
}

func since(from, to time.Duration) time.Duration {
	if from < 0 || to < from {
		return Unknown
	}
	return to - from
}

func rounded(d time.Duration) *string { return new(d.Round(time.Millisecond).String()) }

// order adds pairs of tasks of an allocation of which one ended before the other
// one started in one run, but not in the other, and those of which another one
// started first. Only what lifecycles arrange has an order: tasks that run beside
// each other have none.
func (c *comparison) order(w Where, a, b *Alloc) {
	names := slices.Sorted(keys(a.Tasks, b.Tasks))
	for _, first := range names {
		for _, second := range names {
			xa, ya, xb, yb := a.Tasks[first], a.Tasks[second], b.Tasks[first], b.Tasks[second]
			if first == second || xa == nil || ya == nil || xb == nil || yb == nil || c.lacks(Order) {
				continue
			}
			w.Task = second
			key, arrangement := Key{Order, first}, arranged(xa, ya)
			if arrangement != arranged(xb, yb) {
				continue // by another job
			}
			switch arrangement {
			case endFirst:
				c.ordered(w, key, xa.Ended, ya.Started, xb.Ended, yb.Started, first+" ended")
			case startFirst:
				c.ordered(w, key, xa.Started, ya.Started, xb.Started, yb.Started, first+" started")
			case unarranged:
			}
		}
	}
}

// ordered adds that a task started before what it has to wait for in one of the
// runs, and after it in the other.
func (c *comparison) ordered(w Where, key Key, beforeA, startA, beforeB, startB time.Duration, what string) {
	early := func(before, start time.Duration) bool { return start >= 0 && (before < 0 || start < before-c.Slack) }
	if startA < 0 || startB < 0 || early(beforeA, startA) == early(beforeB, startB) {
		return
	}
	text := func(before, start time.Duration) *string {
		if early(before, start) {
			return new("started before " + what)
		}
		return new("started after " + what)
	}
	c.add(Difference{Where: w, Key: key, A: text(beforeA, startA), B: text(beforeB, startB), AtA: startA, AtB: startB})
}

type arrangement int

const (
	unarranged arrangement = iota
	endFirst               // the second task starts when the first has ended
	startFirst             // the second task starts when the first has started
)

// arranged returns the order of two tasks; see
// https://developer.hashicorp.com/nomad/docs/job-specification/lifecycle.
func arranged(first, second *Task) arrangement {
	if first.Lifecycle == nil || second.Lifecycle == nil {
		return unarranged
	}
	hook, sidecar := strings.CutSuffix(*first.Lifecycle, " sidecar")
	then, _, _ := strings.Cut(*second.Lifecycle, " ")
	switch {
	case hook == api.TaskLifecycleHookPrestart && then != api.TaskLifecycleHookPrestart && !sidecar:
		return endFirst
	case hook == api.TaskLifecycleHookPrestart && then == "":
		return startFirst
	case hook == "" && then == api.TaskLifecycleHookPoststart:
		return startFirst
	case hook != api.TaskLifecycleHookPoststop && then == api.TaskLifecycleHookPoststop:
		return endFirst
	}
	return unarranged
}
