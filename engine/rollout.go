package engine

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
	"taskrun/engine/update"
)

// runGroups runs the allocations of every group, and takes the job from version
// to version. It returns when they have ended.
func (r *jobRun) runGroups() {
	defer r.lives.Wait()
	stopping, settled := r.stopping.Done(), r.settled.Done()
	for {
		again, over := r.turn()
		if over {
			return
		}
		var tick <-chan time.Time
		if !again.IsZero() {
			tick = time.After(time.Until(again))
		}
		select {
		case <-r.woken:
		case <-tick:
		case <-stopping:
			stopping = nil
		case <-settled:
			settled = nil
		}
	}
}

// look has the job looked at.
func (r *jobRun) look() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// turn does what is to be done now. It returns when to look again, zero for
// not by itself, and whether the job is over.
func (r *jobRun) turn() (again time.Time, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	again = r.advance(&store.Change{})
	if r.living > 0 || r.isEmpty() {
		return again, false
	}
	r.ended = true
	return again, true
}

// isEmpty reports whether the job is a service that somebody has given a count
// of 0: it waits for another one.
func (r *jobRun) isEmpty() bool {
	job := r.newest.Load()
	if *job.Type != api.JobTypeService || *job.Version == 0 || r.isEnding() {
		return false
	}
	for _, g := range job.TaskGroups {
		if *g.Count > 0 {
			return false
		}
	}
	return true
}

// advance takes the deployment and the slots to where they should be now, and
// stores that together with c. It returns when to look again. The lock is held.
func (r *jobRun) advance(c *store.Change) (again time.Time) {
	if d := r.deployment(); d != nil {
		if r.stopping.Err() != nil {
			d.Cancel()
		} else {
			again = d.Tick(time.Now())
		}
		if r.tell(d, c) { // then another version may be on its way
			if d := r.deployment(); d != nil {
				again = d.Tick(time.Now())
				r.tell(d, c)
			}
		}
	}
	var carryOut []func()
	if !r.isEnding() && (r.changed || r.waits) {
		r.changed = false
		carryOut = r.rollOut(c)
	}
	r.recorder.Commit(*c)
	*c = store.Change{}
	for _, do := range carryOut {
		do()
	}
	r.giveBackStatic()
	return again
}

// rollOut decides what is to be done with the slots, and returns what carries
// it out once it is stored. What is begun need not be stored: who dies before
// decides it again.
func (r *jobRun) rollOut(c *store.Change) (carryOut []func()) {
	job := r.newest.Load()
	places, slots := r.places()
	rollout := update.Rollout{Job: job, Version: r.version, Places: places}
	if d := r.deployment(); d != nil {
		rollout.Deployment = d.Deployment
	}
	orders, waits := rollout.Next()
	r.waits = waits
	for _, o := range orders {
		if o.Action == update.Start {
			s := r.slotFor(o.Group, o.Index, o.Canary)
			s.Want, s.Canary, s.Earlier = *job.Version, o.Canary, nil
			carryOut = append(carryOut, s.begin)
			continue
		}
		s := slots[o.At]
		switch o.Action {
		case update.Start:
		case update.Replace:
			s.Want = *job.Version
			carryOut = append(carryOut, s.catchUp, s.begin)
		case update.Change, update.Promote:
			s.move(*job.Version)
			carryOut = append(carryOut, s.adjust)
		case update.Stop:
			s.Gone = true
			carryOut = append(carryOut, s.catchUp)
		}
		if why := s.unwanted(); why != "" {
			s.last().Unwanted = why
		}
		if len(s.Placed) > 0 && r.recorder.Durable() {
			record := s.slotRecord
			c.Put(s.key(), record)
		}
	}
	return carryOut
}

// move takes the slot to a version that its allocation, if it is not to end
// anyway, can go on with. The lock is held.
func (s *slot) move(version uint64) {
	if len(s.Placed) > 0 && s.last().Version == s.Want {
		s.last().Version, s.last().Canary, s.last().Undeployed = version, false, false
		if d := s.deploymentOf(version); d != nil && d.Groups[s.group] != nil && version != s.Want {
			d.Groups[s.group].Placed++
			d.unsaved = true
		}
	}
	s.Want, s.Canary = version, false
}

// adjust tells the present allocation of the version that it is of now. The
// lock is held.
func (s *slot) adjust() {
	if s.present != nil {
		s.present.Update(s.settings(*s.last()))
	}
}
