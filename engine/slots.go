package engine

import (
	"iter"

	"github.com/hashicorp/nomad/api"

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

// versions returns the versions that allocations have, or are to have.
func (l slots) versions() map[uint64]bool {
	needed := map[uint64]bool{}
	for _, s := range l {
		needed[s.Want] = true
		for _, p := range s.Placed {
			needed[p.Version] = true
		}
	}
	return needed
}

// home returns the run that has the directory of the job: its own or its
// parent's.
func (r *jobRun) home() *jobRun {
	if r.above != nil {
		return r.above
	}
	return r
}

// isOver reports whether the job has ended, or is being stopped, for good. In a
// resident engine, it can live again unless it was purged. The caller must hold
// the lock.
func (r *jobRun) isOver() bool {
	if r.host.cfg.Resident {
		return r.purged.Load() || r.home().purged.Load()
	}
	return r.ended || r.stopped
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
		case s.present != nil:
			p.State = update.Living
		case s.living:
			p.State = update.Waiting
		}
		if len(s.Placed) > 0 && s.last().Version == s.Want {
			p.Alloc = s.last().ID
		}
		places, counted = append(places, p), append(counted, s)
	}
	return places, counted
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

// replaceFailed replaces the allocations of a system job that have failed so
// far. Like Nomad, it does so once, when the deployment fails. The caller must
// hold the lock.
func (l slots) replaceFailed() {
	for s := range l.lasting() {
		switch {
		case s.present == nil:
			s.begin()
		case s.present.State().Status == api.AllocClientStatusFailed:
			s.again = true
		}
	}
}
