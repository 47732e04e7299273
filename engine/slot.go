package engine

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// slot is where a group's allocations of one index run, one after another. A
// canary has a slot of its own, beside the one whose place it may take.
//
// What it is for is decided elsewhere, see rollOut; a goroutine of its own, as
// long as it lives, does that.
type slot struct {
	*jobRun
	group string
	index int
	lane  int // 0, or another one where several slots have the same index

	restored  *runner.Alloc   // the last one of an earlier engine, nil for none
	ended     *runner.Alloc   // the one before the next
	claimed   []int           // ports of the present one
	kept      []*runner.Alloc // that have ended, as the first of Placed
	forgotten store.Change    // those that are not kept, for the next placement
	wake      chan struct{}   // of capacity 1: something else is wanted

	// Guarded by the job's mu.
	slotRecord
	living  bool          // its goroutine runs
	present *runner.Alloc // nil between two of them
	again   bool          // another one is to run in its place, whatever becomes of it
}

func (r *jobRun) newSlot(group string, index, lane int) *slot {
	return &slot{jobRun: r, group: group, index: index, lane: lane, wake: make(chan struct{}, 1)}
}

// live runs an allocation, and another in its place for as long as that is
// wanted.
func (s *slot) live() {
	defer s.lives.Done()
	next := s.restored
	s.restored = nil
	for next != nil || s.mayPlace() {
		if next == nil {
			s.replace(s.ended)
			next = s.place()
		}
		s.ended = next
		if !s.another(s.run(next)) {
			return
		}
		next = nil
	}
}

// mayPlace reports whether an allocation is to be placed. If not the slot lives
// no more.
func (s *slot) mayPlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Gone || s.isEnding() {
		s.retire()
		return false
	}
	return true
}

// retire ends the slot's life. The lock is held.
func (s *slot) retire() {
	s.living = false
	s.jobRun.living--
	s.look()
}

// place returns a new allocation of the version that is wanted.
func (s *slot) place() *runner.Alloc {
	s.mu.Lock()
	p := placement{ID: event.NewID(), Version: s.Want, Canary: s.Canary, WasCanary: s.Canary}
	if len(s.Placed) > 0 && s.last().ReplaceAt.IsZero() && (!s.Canary || s.last().WasCanary && s.last().Version == s.Want) {
		p.Replaces = s.last().ID
	}
	if d := s.deploymentOf(p.Version); d != nil && d.Groups[s.group] != nil {
		if p.Undeployed = !d.Active(); !p.Undeployed {
			d.Groups[s.group].Placed++
			d.unsaved = true
		}
	}
	p.Evaluation = s.placedBy(p, &s.forgotten)
	cfg := s.config(p)
	var failure error
	s.claimed, failure = s.givePorts(&cfg)
	cfg.Cores = s.engine.cores.giveAll(cfg.Group)
	p.Ports, p.TaskPorts, p.Cores = cfg.Ports, cfg.TaskPorts, cfg.Cores
	s.Placed = append(s.Placed, p)
	s.forgotten.Put(s.key(), s.slotRecord)
	s.recorder.Commit(s.forgotten)
	s.forgotten = store.Change{}
	alloc := runner.New(cfg)
	s.engine.track(alloc)
	s.present = alloc
	s.mu.Unlock()
	if failure != nil {
		alloc.Fail(failure.Error())
	}
	return alloc
}

// run runs an allocation until it has ended or was left.
func (s *slot) run(alloc *runner.Alloc) runner.Result {
	e := s.engine
	defer context.AfterFunc(s.stopping, func() {
		e.desire(alloc, notNeeded)
		alloc.Stop()
	})()
	defer context.AfterFunc(e.leaving, alloc.Leave)()
	defer s.releasePorts(s.claimed)
	defer e.cores.release(alloc.Config().Cores)
	return alloc.Run(e.hard)
}

// another waits until another allocation is to take the place of one that has
// ended, if ever. If not the slot lives no more.
func (s *slot) another(result runner.Result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = nil
	again := s.again
	s.again = false
	for !s.Gone && !s.isEnding() {
		switch {
		case s.last().Version != s.Want:
			s.Earlier = nil
			return true
		case again:
			return true
		}
		delay, ok := s.replaceIn(result)
		if !ok {
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
			s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: time.Now(), Delay: delay})
		} else {
			s.Earlier = nil
		}
		return true
	}
	s.retire()
	return false
}

// replaceIn is how long after its end the last allocation is replaced, if it is.
// The lock is held.
func (s *slot) replaceIn(result runner.Result) (delay time.Duration, ok bool) {
	switch {
	case !s.last().ReplaceAt.IsZero():
		return s.last().ReplaceAt.Sub(result.Failed), true
	case result.Status == api.AllocClientStatusFailed:
		return s.policy().Next(result.Failed, s.Earlier)
	}
	return 0, false
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
	if s.kept = append(s.kept, ended); len(s.kept) <= keptAllocs {
		return // it is saved with the next placement
	}
	oldest := s.kept[0]
	if err := oldest.Destroy(s.engine.hard); err != nil {
		s.notice("cannot remove allocation %s: %v", oldest.Config().Alloc.ID, err)
	}
	s.engine.forget(oldest)
	s.kept = s.kept[1:]
	runner.Forget(&s.forgotten, oldest.Config().Alloc.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Placed = s.Placed[1:]
}

// policy is that of the version that is wanted, as long as it is known.
func (s *slot) policy() restart.ReschedulePolicy {
	return restart.ReschedulePolicyOf(s.version(s.Want).LookupTaskGroup(s.group).ReschedulePolicy)
}

// last is what was placed last.
func (s *slot) last() *placement { return &s.Placed[len(s.Placed)-1] }

func (s *slot) name() string { return s.allocName(s.group, s.index) }

func (s *slot) config(p placement) runner.Config {
	e := s.engine
	version := s.settings(p)
	cfg := runner.Config{
		Alloc:          &event.Alloc{Job: *s.job.ID, Group: s.group, Name: s.name(), ID: p.ID, Parent: s.parent()},
		Index:          s.index,
		Job:            version.Job,
		Group:          version.Group,
		Deployment:     version.Deployment,
		Canary:         version.Canary,
		Dir:            s.dir.AllocDir(p.ID),
		Replaces:       p.Replaces,
		Evaluation:     p.Evaluation,
		Ports:          p.Ports,
		TaskPorts:      p.TaskPorts,
		Cores:          p.Cores,
		Drivers:        e.cfg.Drivers,
		Hooks:          e.cfg.Hooks,
		Node:           e.cfg.Node,
		HostEnv:        s.hostEnv,
		MaxKillTimeout: e.cfg.MaxKillTimeout,
		Bus:            &e.bus,
		Recorder:       s.recorder,
		Retry:          s.retry,
		OnVerdict:      func(v health.Verdict) { s.report(p.ID, v) },
	}
	if disk := version.Group.EphemeralDisk; (*disk.Sticky || *disk.Migrate) && !p.Canary {
		cfg.Sticky = s.dir.StickyLink(*s.job.ID, s.group, s.index)
	}
	return cfg
}

// settings are the version of the job that a placement is of, as its allocation
// sees it.
func (s *slot) settings(p placement) runner.Update {
	job := s.version(p.Version)
	u := runner.Update{Job: job, Group: job.LookupTaskGroup(s.group), Canary: p.Canary}
	if p.Canary {
		u.Group = update.CanaryGroup(u.Group)
	}
	if d := s.deploymentOf(p.Version); d != nil && d.Groups[s.group] != nil && !p.Undeployed {
		u.Deployment = d.ID
	}
	return u
}

// failsDeployment reports whether the last allocation is part of a deployment
// that goes on. The lock is held.
func (s *slot) failsDeployment() bool {
	d := s.deployment()
	return d != nil && d.Active() && d.Groups[s.group] != nil && !s.last().Undeployed && s.last().Version == d.Version
}

// replaceFailed replaces the allocations of a system job that have failed by
// now. Nomad looks at the job once more when its deployment fails, and not
// again. The lock is held.
func (r *jobRun) replaceFailed() {
	for _, s := range r.slots {
		switch {
		case s.Gone || len(s.Placed) == 0:
		case s.present == nil:
			s.begin()
		case s.present.State().Status == api.AllocClientStatusFailed:
			s.again = true
		}
	}
}

// retry is how long it takes until the allocation that failed at a time is
// replaced; negative when it is not.
func (s *slot) retry(failed time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.retryLocked(failed)
}

func (s *slot) retryLocked(failed time.Time) time.Duration {
	if *s.job.Type == api.JobTypeSystem && s.failsDeployment() && !s.Gone && s.stopping.Err() == nil {
		return 0
	}
	delay, ok := s.policy().Next(failed, s.Earlier)
	if !ok || s.Gone || s.stopping.Err() != nil {
		return -1
	}
	return delay
}
