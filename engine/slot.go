package engine

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// last is what was placed last.
func (s *slot) last() *placement { return &s.Placed[len(s.Placed)-1] }

func (s *slot) name() string { return allocName(*s.job.ID, s.group, s.index) }

// policy is that of the version that is wanted, as long as it is known.
func (s *slot) policy() restart.ReschedulePolicy {
	return restart.ReschedulePolicyOf(s.version(s.Want).LookupTaskGroup(s.group).ReschedulePolicy)
}

func (s *slot) config(p placement) runner.Config {
	e := s.engine
	version := s.settings(p)
	cfg := runner.Config{
		Alloc:          &event.Alloc{Job: *s.job.ID, Group: s.group, Name: s.name(), ID: p.ID, Parent: parentOf(s.job)},
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
		Chance:         e.cfg.Chance,
		Bus:            &e.bus,
		Recorder:       s.recorder,
		Retry:          s.retry,
		OnVerdict:      func(v health.Verdict) { s.onVerdict(p.ID, v) },
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
	if d := s.deployments.of(p.Version); d != nil && d.Groups[s.group] != nil && !p.Undeployed {
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

// atOnce is how soon an allocation that is to be replaced is replaced at once.
const atOnce = time.Second

// rescheduleStopped decides when the present allocation, which is stopped and
// has changed last at a time, is replaced. The job's lock is held.
func (s *slot) rescheduleStopped(changed, now time.Time) {
	delay, ok := s.policy().Next(changed, s.Earlier)
	switch at := changed.Add(delay); {
	case !ok:
	case at.Sub(now) <= atOnce:
		s.again = true
		s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: now, Delay: delay})
	default:
		s.last().ReplaceAt = at
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

// nudge has the slot look what is wanted, if it waits.
func (s *slot) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// catchUp has the present allocation end if it is to. The lock is held.
func (s *slot) catchUp() {
	if why := s.unwanted(); why != "" {
		s.engine.allocs.unwant(s.present, why)
	}
	s.nudge()
}

// move takes the slot to a version that its allocation, if it is not to end
// anyway, can go on with. The lock is held.
func (s *slot) move(version uint64) {
	if len(s.Placed) > 0 && s.last().Version == s.Want {
		s.last().Version, s.last().Canary, s.last().Undeployed = version, false, false
		if d := s.deployments.of(version); d != nil && d.Groups[s.group] != nil && version != s.Want {
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

// stopAlloc stops the present allocation, and stores that together with c. The
// job's lock is held.
func (s *slot) stopAlloc(c *store.Change) {
	s.last().Unwanted, s.last().Again = migrated, s.again
	c.Put(s.key(), s.slotRecord)
	s.recorder.Commit(*c)
	*c = store.Change{}
	s.engine.allocs.unwant(s.present, migrated)
}
