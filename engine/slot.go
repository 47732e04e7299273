package engine

import (
	"context"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/event"
	"taskrun/engine/health"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// slot is where a group's allocations of one index run, one after another.
type slot struct {
	*jobRun
	group *api.TaskGroup
	index int
	slotRecord
	restored  *runner.Alloc   // the last one of an earlier engine, nil for none
	claimed   []int           // ports of the present one
	kept      []*runner.Alloc // that have ended, as the first of Placed
	forgotten store.Change    // those that are not kept, for the next placement

	// Guarded by the job's mu.
	present *runner.Alloc
	again   bool // another one is to run in its place, whatever becomes of it
}

// restoreSlots makes the slots of all groups, with what an earlier engine had
// placed in them.
func (r *jobRun) restoreSlots() (slots []*slot) {
	for _, g := range r.job.TaskGroups {
		for i := range r.count(g) {
			s := &slot{jobRun: r, group: g, index: i}
			s.restored = s.restore()
			slots = append(slots, s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots = slots
	return slots
}

// live runs an allocation, and another in its place for as long as the group's
// reschedule policy wants it.
func (s *slot) live() {
	r := s.jobRun
	next := s.restored
	for {
		if next == nil {
			if r.settled.Err() != nil {
				return
			}
			next = s.place()
		}
		result := s.run(next)
		if s.wantedAgain() {
			s.replace(next)
			next = nil
			continue
		}
		if result.Status != api.AllocClientStatusFailed {
			return
		}
		delay, ok := s.policy().Next(result.Failed, s.Earlier)
		if !ok || !r.sleepUntil(result.Failed.Add(delay)) {
			return
		}
		s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: time.Now(), Delay: delay})
		s.replace(next)
		next = nil
	}
}

func (s *slot) key(kind string) store.Key {
	return store.KeyOf(kind, *s.job.ID, *s.group.Name, strconv.Itoa(s.index))
}

// restore returns the allocation that an earlier engine had placed last; nil
// for none. What the slot had kept is there again.
func (s *slot) restore() *runner.Alloc {
	if !s.recorder.Durable() {
		return nil
	}
	if _, err := s.recorder.Get(s.key(slotKey), &s.slotRecord); err != nil {
		s.notice("%s: %v", s.name(), err)
	}
	var last *runner.Alloc
	for _, p := range s.Placed {
		if last != nil {
			s.kept = append(s.kept, last)
		}
		cfg := s.config(p)
		last = runner.Restore(cfg)
		s.engine.track(last)
		s.engine.finding.Go(last.Found)
		if !last.Over() {
			s.claimed = s.adoptPorts(&cfg)
		}
	}
	if last != nil {
		s.restoreMove(last)
	}
	return last
}

// place returns a new allocation.
func (s *slot) place() *runner.Alloc {
	p := placement{ID: event.NewID()}
	if n := len(s.Placed); n > 0 {
		p.Replaces = s.Placed[n-1].ID
	}
	cfg := s.config(p)
	var failure error
	s.claimed, failure = s.givePorts(&cfg)
	p.Ports, p.TaskPorts = cfg.Ports, cfg.TaskPorts
	s.Placed = append(s.Placed, p)
	s.forgotten.Drop(s.key(moveKey)) // it has come to this
	s.forgotten.Put(s.key(slotKey), s.slotRecord)
	s.recorder.Commit(s.forgotten)
	s.forgotten = store.Change{}
	alloc := runner.New(cfg)
	s.engine.track(alloc)
	if failure != nil {
		alloc.Fail(failure.Error())
	}
	return alloc
}

// run runs an allocation until it has ended or was left.
func (s *slot) run(alloc *runner.Alloc) runner.Result {
	e := s.engine
	s.hold(alloc)
	defer s.hold(nil)
	defer context.AfterFunc(s.stopping, func() {
		e.desire(alloc, notNeeded)
		alloc.Stop()
	})()
	defer context.AfterFunc(e.leaving, alloc.Leave)()
	defer s.releasePorts(s.claimed)
	return alloc.Run(e.hard)
}

// hold makes an allocation the one that orders are for; nil: there is none.
func (s *slot) hold(alloc *runner.Alloc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = alloc
	if job := s.newest.Load(); alloc != nil && alloc.Config().Job != job { // it has changed meanwhile
		alloc.Update(runner.Update{Job: job, Group: job.LookupTaskGroup(*s.group.Name)})
	}
}

// wantedAgain reports, once, whether another allocation is to take the place of
// one that was ordered to end.
func (s *slot) wantedAgain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.again
	s.again = false
	return again && s.settled.Err() == nil
}

// replace makes room for an allocation in place of one that has ended.
func (s *slot) replace(ended *runner.Alloc) {
	if s.kept = append(s.kept, ended); len(s.kept) <= keptAllocs {
		return // it is saved with the next placement
	}
	oldest := s.kept[0]
	if err := oldest.Destroy(s.engine.hard); err != nil {
		s.notice("cannot remove allocation %s: %v", oldest.Config().Alloc.ID, err)
	}
	s.engine.forget(oldest)
	s.kept, s.Placed = s.kept[1:], s.Placed[1:]
	runner.Forget(&s.forgotten, oldest.Config().Alloc.ID)
}

// policy is that of the newest version.
func (s *slot) policy() restart.ReschedulePolicy {
	return restart.ReschedulePolicyOf(s.newest.Load().LookupTaskGroup(*s.group.Name).ReschedulePolicy)
}

func (s *slot) name() string { return s.allocName(s.group, s.index) }

func (s *slot) config(p placement) runner.Config {
	e, parent := s.engine, ""
	job := s.newest.Load()
	if s.job.ParentID != nil {
		parent = *s.job.ParentID
	}
	cfg := runner.Config{
		Alloc:          &event.Alloc{Job: *s.job.ID, Group: *s.group.Name, Name: s.name(), ID: p.ID, Parent: parent},
		Index:          s.index,
		Job:            job,
		Group:          job.LookupTaskGroup(*s.group.Name),
		Dir:            s.dir.AllocDir(p.ID),
		Replaces:       p.Replaces,
		Ports:          p.Ports,
		TaskPorts:      p.TaskPorts,
		Drivers:        e.cfg.Drivers,
		Hooks:          e.cfg.Hooks,
		Node:           e.cfg.Node,
		HostEnv:        s.hostEnv,
		MaxKillTimeout: e.cfg.MaxKillTimeout,
		Bus:            &e.bus,
		Recorder:       s.recorder,
		Retry:          s.retry,
		OnVerdict: func(v health.Verdict) {
			s.report(verdict{*s.group.Name, p.ID, v, s.retry(time.Now()) >= 0})
		},
	}
	if disk := s.group.EphemeralDisk; *disk.Sticky || *disk.Migrate {
		cfg.Sticky = s.dir.StickyLink(*s.job.ID, *s.group.Name, s.index)
	}
	return cfg
}

// retry is how long it takes until the allocation that failed at a time is
// replaced; negative when it is not.
func (s *slot) retry(failed time.Time) time.Duration {
	delay, ok := s.policy().Next(failed, s.Earlier)
	if !ok || s.stopping.Err() != nil {
		return -1
	}
	return delay
}
