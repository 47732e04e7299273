package restart

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// ReschedulePolicy says when a failed allocation is replaced. The zero value
// never replaces one.
type ReschedulePolicy struct {
	Attempts  int
	Interval  time.Duration
	Delay     time.Duration
	Function  string // constant, exponential or fibonacci
	MaxDelay  time.Duration
	Unlimited bool
}

// ReschedulePolicyOf reads the policy of a canonicalized group. A nil policy,
// as in system jobs, never replaces an allocation.
func ReschedulePolicyOf(r *api.ReschedulePolicy) ReschedulePolicy {
	if r == nil {
		return ReschedulePolicy{}
	}
	return ReschedulePolicy{
		Attempts:  value(r.Attempts),
		Interval:  value(r.Interval),
		Delay:     value(r.Delay),
		Function:  value(r.DelayFunction),
		MaxDelay:  value(r.MaxDelay),
		Unlimited: value(r.Unlimited),
	}
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Enabled reports whether the policy ever replaces an allocation.
func (p ReschedulePolicy) Enabled() bool { return p.Attempts > 0 || p.Unlimited }

// Replacement records one replacement of an allocation because it failed.
type Replacement struct {
	Time  time.Time
	Delay time.Duration
	Alloc string `json:",omitempty"` // ID of the replaced allocation, for users
}

// keptUnlimited is how many replacements an unlimited policy remembers.
const keptUnlimited = 5

// Next returns whether, and after which delay, an allocation that failed at the
// given time is replaced, after the earlier replacements.
func (p ReschedulePolicy) Next(failed time.Time, earlier []Replacement) (delay time.Duration, ok bool) {
	if !p.Enabled() {
		return 0, false
	}
	delay = p.delay(failed, earlier)
	if p.Unlimited || len(earlier) == 0 {
		return delay, true
	}
	recent := 0
	for _, e := range earlier {
		if e.Time.After(failed.Add(-p.Interval)) {
			recent++
		}
	}
	return delay, recent < p.Attempts && delay < p.Interval
}

// Keep returns the replacements to remember after r.
func (p ReschedulePolicy) Keep(earlier []Replacement, r Replacement) []Replacement {
	kept := append([]Replacement(nil), earlier...)
	if p.Unlimited {
		if over := len(kept) - keptUnlimited; over > 0 {
			kept = kept[over:]
		}
		return append(kept, r)
	}
	first := 0
	for first < len(kept) && !kept[first].Time.After(r.Time.Add(-p.Interval)) {
		first++
	}
	return append(kept[first:], r)
}

func (p ReschedulePolicy) delay(failed time.Time, earlier []Replacement) time.Duration {
	n := len(earlier)
	if n == 0 || p.Function == "constant" || p.Function == "" {
		return p.Delay
	}
	last := earlier[n-1]
	d := p.Delay
	switch p.Function {
	case "exponential":
		d = 2 * last.Delay
	case "fibonacci":
		if n > 1 {
			before := earlier[n-2]
			// A series that reached its maximum and then started again
			// continues from its start, not from the maximum.
			if before.Delay != p.MaxDelay || last.Delay != p.Delay {
				d = before.Delay + last.Delay
			}
		}
	}
	if p.MaxDelay > 0 && d > p.MaxDelay {
		d = p.MaxDelay
		if failed.Sub(last.Time) > p.MaxDelay {
			d = p.Delay
		}
	}
	return d
}
