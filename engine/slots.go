package engine

import (
	"iter"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// lasting returns the slots that have had allocations and were not given up.
func (l slots) lasting() iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		for _, s := range l {
			if !s.Gone && len(s.Placed) > 0 && !yield(s) {
				return
			}
		}
	}
}

// versions returns the versions that allocations have, or are to have. One that had
// ended when its slot adopted another version still has its own.
func (l slots) versions() map[uint64]bool {
	needed := map[uint64]bool{}
	for _, s := range l {
		needed[s.Want] = true
		for _, p := range s.Placed {
			needed[p.Version], needed[p.stood().Version] = true, true
		}
	}
	return needed
}

// places describes the slots that count towards the job, and returns them in
// the same order. The caller must hold the lock.
func (l slots) places() (places []update.Place, counted []*slot) {
	for _, s := range l {
		if s.Gone {
			continue
		}
		p := update.Place{Group: s.group, Index: s.index, Canary: s.Canary, Version: s.Want, State: update.Over}
		switch {
		case isLive(s.present):
			p.State = update.Living
		case s.living && (s.present == nil || s.host.allocs.hasFailed(s.last().ID)):
			p.State = update.Waiting
		case len(s.Placed) > 0 && s.host.allocs.hasFailed(s.last().ID):
			p.State = update.Failed
			if failed, delay, ok := retryOf(s); ok && time.Since(failed) >= delay {
				p.State = update.Due
			}
		}
		if len(s.Placed) > 0 && s.last().Version == s.Want {
			p.Alloc, p.Undeployed = s.last().ID, s.last().Undeployed
		}
		places, counted = append(places, p), append(counted, s)
	}
	return places, counted
}

// retryOf returns when the last allocation of a slot that does not live has failed,
// and the delay after which the policy replaces it, if ever. The caller must hold the
// lock.
func retryOf(s *slot) (failed time.Time, delay time.Duration, ok bool) {
	if s.ended == nil {
		return failed, 0, false
	}
	failed = s.ended.State().LastEvent()
	delay, ok = s.policy().Next(failed, s.Earlier)
	return failed, delay, ok
}

// isLive reports whether there is an allocation, and it has not ended.
func isLive(a *runner.Alloc) (live bool) {
	if a != nil {
		a.UnlessEnded(func() { live = true })
	}
	return live
}

// skipShutdownDelays makes the present allocations wait for no shutdown_delay
// when they stop. The caller must hold the lock.
func (l slots) skipShutdownDelays(c *store.Change) {
	for _, s := range l {
		if s.present != nil {
			s.transit(api.DesiredTransition{NoShutdownDelay: new(true)})
			c.Put(s.record(), s.slotRecord)
		}
	}
}

// pause makes a later engine place all allocations again that run now. The caller
// must hold the lock.
func (l slots) pause(c *store.Change) {
	for _, s := range l {
		if s.present != nil && s.last().Unwanted == "" {
			s.last().Again = true
			c.Put(s.record(), s.slotRecord)
		}
	}
}
