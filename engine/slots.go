package engine

import (
	"slices"
	"strconv"

	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

func (s *slot) key() store.Key {
	parts := []string{slotKey, *s.job.ID, s.group, strconv.Itoa(s.index)}
	if s.lane > 0 {
		parts = append(parts, strconv.Itoa(s.lane))
	}
	return store.KeyOf(parts...)
}

// restoreSlots makes the slots that an earlier engine has stored, with what it
// had placed in them. Those live until it is clear that they need not.
func (r *jobRun) restoreSlots() {
	if !r.recorder.Durable() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.recorder.Keys(store.KeyOf(slotKey, *r.job.ID)) {
		parts := append(key.Parts(), "0")
		index, err := strconv.Atoi(parts[3])
		lane, laneErr := strconv.Atoi(parts[4])
		s := r.newSlot(parts[2], index, lane)
		if err == nil && laneErr == nil {
			_, err = r.recorder.Get(key, &s.slotRecord)
		}
		if err != nil || laneErr != nil || len(s.Placed) == 0 {
			r.notice("cannot restore what is stored as %q: %v", parts, err)
			continue
		}
		s.restore()
		r.slots = append(r.slots, s)
	}
}

// restore makes the allocations that are kept known again.
func (s *slot) restore() {
	for _, p := range s.Placed {
		if s.restored != nil {
			s.kept = append(s.kept, s.restored)
		}
		cfg := s.config(p)
		s.restored = runner.Restore(cfg)
		s.engine.track(s.restored)
		s.engine.finding.Go(s.restored.Found)
		if p.Unwanted != "" {
			s.engine.desire(s.restored, p.Unwanted)
		}
		if !s.restored.Over() {
			s.claimed = s.adoptPorts(&cfg)
		}
	}
	s.engine.cores.adopt(s.last().Cores)
	s.present, s.again = s.restored, s.last().Again
	s.begin()
	if s.last().Unwanted != "" {
		s.present.Stop()
	}
}

// begin has the slot live, and look what is wanted. The lock is held.
func (s *slot) begin() {
	if s.living {
		s.nudge()
		return
	}
	s.living = true
	s.jobRun.living++
	s.lives.Add(1)
	go s.live()
}

// nudge has the slot look what is wanted, if it waits.
func (s *slot) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// unwanted says why the present allocation is to end; empty if it is not. The
// lock is held.
func (s *slot) unwanted() string {
	switch {
	case s.present == nil:
	case s.Gone:
		return notNeeded
	case s.last().Version != s.Want:
		return updated
	}
	return ""
}

// catchUp has the present allocation end if it is to. The lock is held.
func (s *slot) catchUp() {
	if why := s.unwanted(); why != "" {
		s.engine.desire(s.present, why)
		s.present.Stop()
	}
	s.nudge()
}

// places describes the slots that count, and returns them in the same order.
// The lock is held.
func (r *jobRun) places() (places []update.Place, slots []*slot) {
	for _, s := range r.slots {
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
		places, slots = append(places, p), append(slots, s)
	}
	return places, slots
}

// slotFor returns a slot for an allocation of an index, one that was given up
// where that can be. The lock is held.
func (r *jobRun) slotFor(group string, index int, canary bool) *slot {
	var same []*slot
	for _, s := range r.slots {
		if s.group == group && s.index == index {
			same = append(same, s)
		}
	}
	for _, s := range same {
		if s.Gone && (!s.living || !canary && !s.Canary) {
			s.Gone, s.again = false, s.living // what still ends in it goes first
			return s
		}
	}
	lane := 0
	for slices.ContainsFunc(same, func(s *slot) bool { return s.lane == lane }) {
		lane++
	}
	s := r.newSlot(group, index, lane)
	r.slots = append(r.slots, s)
	return s
}
