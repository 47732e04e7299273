package engine

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// begin begins the life of the slot, or wakes it to check what is wanted. The
// caller must hold the lock.
func (s *slot) begin() {
	if s.living {
		s.nudge()
		return
	}
	s.living = true
	s.hold()
	s.lives.Add(1)
	placed := func() {}
	if !s.turned {
		s.placing.Add(1)
		placed = sync.OnceFunc(s.placing.Done)
	}
	go s.live(placed)
}

// placeAgain places another allocation now, in place of one that is running or has
// ended. The lock is held.
func (s *slot) placeAgain() {
	s.again = s.living // otherwise the slot places one anyway
	s.begin()
}

// live runs an allocation, and another in its place for as long as that is
// wanted. It calls placed once Allocs has the first one, or there will be none.
func (s *slot) live(placed func()) {
	defer s.lives.Done()
	defer placed()
	if s.resumes && !resume(s) {
		return
	}
	next := s.restored
	s.restored = nil
	for next != nil || s.mayPlace() {
		if next == nil && !s.host.mayPlace() {
			placed() // it will take long
			s.awaitEligibility()
			continue
		}
		if next == nil {
			s.replace(s.ended)
			s.ended = nil // kept, or gone: if nothing is placed now, the next life must not replace it again
			if next = s.place(); next == nil {
				continue
			}
		}
		placed()
		s.ended = next
		if !s.another(s.run(next)) {
			return
		}
		next = nil
	}
}

// mayPlace reports whether to place an allocation. If not, the life of the slot has
// ended.
func (s *slot) mayPlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOut() {
		s.retire()
		return false
	}
	return true
}

// isOut reports whether the slot gets no more allocations. The caller must hold the
// lock.
func (s *slot) isOut() bool { return s.Gone || s.isEnding() }

// retire ends the slot's life. The lock is held.
func (s *slot) retire() {
	s.living = false
	s.release()
	s.look()
}

// keptAllocs is how many allocations that were replaced stay on disk for each
// that runs.
const keptAllocs = 5

// place returns a new allocation of the wanted version, or nil if none is wanted.
func (s *slot) place() *runner.Alloc {
	s.mu.Lock()
	if s.isOut() {
		s.mu.Unlock()
		return nil
	}
	p := placement{ID: s.host.cfg.Chance.ID("allocation", s.key, s.group, s.index, s.lane), standing: standing{Version: s.Want, Canary: s.Canary}, WasCanary: s.Canary}
	if len(s.Placed) > 0 && s.last().ReplaceAt.IsZero() && !s.startsAfresh(s.last(), s.Want) && (!s.Canary || s.last().WasCanary && s.last().Version == s.Want) {
		p.Replaces, p.Replacements = s.last().ID, s.Earlier
	}
	if d := s.deployments.of(p.Version); d != nil && d.Groups[s.group] != nil {
		if p.Undeployed = !d.Active(); !p.Undeployed {
			d.Groups[s.group].Placed++
			d.unsaved = true
		}
	}
	p.Evaluation = s.placedBy(p, &s.forgotten)
	cfg := s.config(p)
	var failure error
	s.claimed, failure = s.ports.Give(&cfg, s.lane)
	cfg.Cores = s.host.cores.Give(cfg.Group)
	p.Ports, p.TaskPorts, p.Cores = cfg.Ports, cfg.TaskPorts, cfg.Cores
	s.Placed = append(s.Placed, p)
	s.forgotten.Put(s.record(), s.slotRecord)
	s.recorder.Commit(s.forgotten)
	s.forgotten = store.Change{}
	alloc := runner.New(cfg)
	s.host.allocs.track(alloc)
	s.present = alloc
	s.mu.Unlock()
	if failure != nil {
		alloc.Fail(failure.Error())
	} else {
		alloc.Begin()
	}
	return alloc
}

// run runs an allocation until it has ended or was left.
func (s *slot) run(alloc *runner.Alloc) runner.Result {
	defer attend(s, alloc)()
	return alloc.Run(s.host.hard)
}

// attend tells an allocation when it is to stop, and when to be left, until end takes
// back what it has of the machine. Thousands of goroutines wait in run: its frame is
// small.
func attend(s *slot, alloc *runner.Alloc) (end func()) {
	h, claimed, cores := s.host, s.claimed, alloc.Config().Cores
	stopped := context.AfterFunc(s.stopping, func() { h.allocs.unwant(alloc, notNeeded, false) })
	left := context.AfterFunc(h.leaving, alloc.Leave)
	return func() {
		h.cores.Release(cores)
		s.ports.Release(claimed)
		left()
		stopped()
	}
}

// another waits until the allocation that has ended should be replaced. It returns
// false if it never is, and the life of the slot has ended.
func (s *slot) another(result runner.Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = nil
	again := s.again
	s.again = false
	for !s.isOut() {
		switch {
		case s.last().Version != s.Want:
			s.Earlier = nil
			return true
		case again:
			return true
		}
		delay, ok := s.replaceIn(result)
		if !ok {
			if result.Status == api.AllocClientStatusFailed && s.promised && s.isForsaken() {
				tellRetry(s.ended, -1, s.recorder)
			}
			break
		}
		if at := result.Failed.Add(delay); time.Now().Before(at) {
			s.mu.Unlock()
			s.sleep(at)
			s.mu.Lock()
			again = s.again
			s.again = false
			continue
		}
		if s.last().ReplaceAt.IsZero() {
			s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: time.Now(), Delay: delay, Alloc: s.last().ID})
		} else {
			s.Earlier = nil
		}
		return true
	}
	s.retire()
	return false
}

// resume waits until it is time to replace an allocation that was given up with its
// deployment, after the job has changed. It reports whether to replace it; if not,
// the life of the slot has ended.
func resume(s *slot) bool {
	now := s.ended.State()
	result := runner.Result{Status: now.Status, Failed: now.LastEvent()}
	s.resumes = false
	s.mu.Lock()
	if delay, ok := s.replaceIn(result); ok {
		tellRetry(s.ended, delay, s.recorder)
	}
	s.mu.Unlock()
	return s.another(result)
}

// tellRetry corrects when an allocation that has failed is replaced: with a negative
// delay it is not.
func tellRetry(a *runner.Alloc, delay time.Duration, recorder *store.Recorder) {
	cfg, now := a.Config(), a.State()
	var c store.Change
	c.Add(event.Event{Time: time.Now(), Alloc: cfg.Alloc, Body: event.AllocStatus{
		Status: now.Status, Description: now.Description, Replaces: cfg.Replaces, Retry: delay, Evaluation: cfg.Evaluation,
	}})
	recorder.Commit(c)
}

// sleep waits for a time, for the end of the job, or until something else is
// wanted of the slot.
func (s *slot) sleep(until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-s.settled.Done():
	}
}

// replace makes room for an allocation in place of one that has ended.
func (s *slot) replace(ended *runner.Alloc) {
	if ended == nil {
		return
	}
	oldest := s.keep(ended)
	if oldest == nil {
		return // it is saved with the next placement
	}
	s.destroy(oldest, &s.forgotten)
}

// keep keeps an allocation that has ended, and returns another one if there are
// too many.
func (s *slot) keep(ended *runner.Alloc) (oldest *runner.Alloc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept = append(s.kept, ended); len(s.kept) <= keptAllocs {
		return nil
	}
	oldest, s.kept, s.Placed = s.kept[0], s.kept[1:], s.Placed[1:]
	return oldest
}

// awaitEligibility waits until the eligibility of the node may have changed, or
// something else is wanted of the slot.
func (s *slot) awaitEligibility() {
	state, node := s.host.state, fold.Topic{Table: fold.Nodes, Key: s.host.cfg.Node.ID}
	state.mu.Lock()
	w := state.join(node)
	state.mu.Unlock()
	defer state.leave(node, w)
	if s.host.mayPlace() {
		return
	}
	select {
	case <-w.changed:
	case <-s.wake:
	case <-s.settled.Done():
	}
}

// hold counts the descriptors of a slot that begins to live. The caller must
// hold the lock.
func (s *slot) hold() {
	s.files = filesOfAlloc
	if g := s.version(s.Want).LookupTaskGroup(s.group); g != nil {
		s.files = filesOfGroup(g)
	}
	if s.jobRun.living++; s.jobRun.living == 1 {
		s.files += filesOfJob
	}
	s.host.files.used.Add(int64(s.files))
}

// release takes back what hold has counted. The caller must hold the lock.
func (s *slot) release() {
	s.jobRun.living--
	s.host.files.used.Add(int64(-s.files))
}
