package engine

import (
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/grant"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/runner"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// last returns the latest placement.
func (s *slot) last() *placement { return &s.Placed[len(s.Placed)-1] }

func (s *slot) name() string { return grant.AllocName(*s.job.ID, s.group, s.index) }

// policy returns the reschedule policy of the wanted version, if that is still
// known.
func (s *slot) policy() restart.ReschedulePolicy {
	return restart.ReschedulePolicyOf(s.version(s.Want).LookupTaskGroup(s.group).ReschedulePolicy)
}

func (s *slot) config(p placement) runner.Config {
	h := s.host
	version := s.settings(p.stood())
	cfg := runner.Config{
		Alloc:          &event.Alloc{Job: s.key, Group: s.group, Name: s.name(), ID: p.ID, Parent: s.parent},
		Index:          s.index,
		Job:            version.Job,
		Group:          version.Group,
		Deployment:     version.Deployment,
		Canary:         version.Canary,
		Dir:            s.dir.AllocDir(p.ID),
		Replaces:       p.Replaces,
		Replacements:   p.Replacements,
		Evaluation:     p.Evaluation,
		Ports:          p.Ports,
		TaskPorts:      p.TaskPorts,
		Cores:          p.Cores,
		Drivers:        h.cfg.Drivers,
		Hooks:          h.cfg.Hooks,
		Node:           h.cfg.Node,
		HostEnv:        s.hostEnv,
		MaxKillTimeout: h.cfg.MaxKillTimeout,
		Chance:         h.cfg.Chance,
		Bus:            &h.bus,
		Recorder:       s.recorder,
		Retry:          s.retry,
		OnVerdict:      func(v health.Verdict) { s.onVerdict(p.ID, v) },
	}
	if disk := version.Group.EphemeralDisk; (*disk.Sticky || *disk.Migrate) && !p.Canary {
		cfg.Sticky = s.dir.StickyLink(s.key, s.group, s.index)
	}
	return cfg
}

// settings returns the version of the job to which a placement belongs, in the
// form that its allocation gets.
func (s *slot) settings(p standing) runner.Update {
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

// deployed returns the deployment of the newest version if the last allocation
// belongs to it, or nil. The caller must hold the lock.
func (s *slot) deployed() *deploymentRecord {
	d := s.deployment()
	if d == nil || d.Groups[s.group] == nil || s.last().Undeployed || s.last().Version != d.Version {
		return nil
	}
	return d
}

// isForsaken reports whether the last allocation belongs to a deployment that has
// failed: as in Nomad nothing replaces such an allocation if it fails. The caller
// must hold the lock.
func (s *slot) isForsaken() bool {
	d := s.deployed()
	return d != nil && d.Status == health.DeploymentFailed
}

// retry returns the delay before an allocation that failed at the given time is
// replaced. It is negative if it is not replaced.
func (s *slot) retry(failed time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	delay := s.retryLocked(failed)
	s.promised = delay >= 0
	return delay
}

func (s *slot) retryLocked(failed time.Time) time.Duration {
	if s.Gone || s.stopping.Err() != nil {
		return -1
	}
	if d := s.deployed(); *s.job.Type == api.JobTypeSystem && d != nil && d.Active() {
		return 0
	}
	if delay, ok := s.policy().Next(failed, s.Earlier); ok && !s.isForsaken() {
		return delay
	}
	return -1
}

// replaceIn returns the delay between the end of the last allocation and its
// replacement, if there will be one. The caller must hold the lock.
func (s *slot) replaceIn(result runner.Result) (delay time.Duration, ok bool) {
	switch {
	case !s.last().ReplaceAt.IsZero():
		return s.last().ReplaceAt.Sub(result.Failed), true
	case result.Status == api.AllocClientStatusFailed && !s.isForsaken():
		return s.policy().Next(result.Failed, s.Earlier)
	}
	return 0, false
}

// atOnce is the delay of a replacement that happens at once.
const atOnce = time.Second

// rescheduleStopped decides when to replace the present allocation, which is
// being stopped and last changed at the given time. The caller must hold the
// lock.
func (s *slot) rescheduleStopped(changed, now time.Time) {
	delay, ok := s.policy().Next(changed, s.Earlier)
	switch at := changed.Add(delay); {
	case !ok:
	case at.Sub(now) <= atOnce:
		s.again = true
		s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: now, Delay: delay, Alloc: s.last().ID})
	default:
		s.last().ReplaceAt = at
	}
}

// rescheduleFailed replaces the last allocation, which has failed, now. Like
// Nomad it does so only where the policy replaces allocations at all. The caller
// must hold the lock.
func (s *slot) rescheduleFailed(now time.Time) {
	policy, n := s.policy(), len(s.Earlier)
	if !policy.Enabled() || s.isForsaken() || n > 0 && s.Earlier[n-1].Alloc == s.last().ID { // it is being replaced
		return
	}
	delay, _ := policy.Next(now, s.Earlier)
	s.Earlier = policy.Keep(s.Earlier, restart.Replacement{Time: now, Delay: delay, Alloc: s.last().ID})
	s.placeAgain()
}

// unwanted explains why the present allocation should stop, or returns "". The
// caller must hold the lock.
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

// nudge wakes the slot, if it waits, to check what is wanted.
func (s *slot) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// catchUp stops the present allocation if it should stop. The caller must hold
// the lock.
func (s *slot) catchUp() {
	if why := s.unwanted(); why != "" {
		s.host.allocs.unwant(s.present, why, false)
	}
	s.nudge()
}

// move changes the slot to a version that its allocation can adopt while
// running. One that has ended is not part of the deployment of that version. The
// caller must hold the lock.
func (s *slot) move(version uint64) {
	if len(s.Placed) > 0 && s.last().Version == s.Want {
		live, p := isLive(s.present), s.last()
		if !live && p.Ended == nil {
			p.Ended = new(p.standing)
		}
		p.standing = standing{Version: version, Undeployed: !live}
		if d := s.deployments.of(version); live && d != nil && d.Groups[s.group] != nil && version != s.Want {
			d.Groups[s.group].Placed++
			d.unsaved = true
		}
	}
	s.Want, s.Canary = version, false
}

// adjust gives the present allocation the settings of its current version. The
// caller must hold the lock.
func (s *slot) adjust() {
	if isLive(s.present) {
		s.present.Update(s.settings(s.last().standing))
	}
}

// stopAlloc stops the present allocation, and stores that together with c. The
// caller must hold the lock.
func (s *slot) stopAlloc(c *store.Change) {
	s.last().Unwanted, s.last().Again = migrated, s.again
	c.Put(s.record(), s.slotRecord)
	s.recorder.Commit(*c)
	*c = store.Change{}
	s.host.allocs.unwant(s.present, migrated, s.last().isFinal())
}

func (s *slot) record() store.Key {
	parts := []string{slotKey, s.key, s.group, strconv.Itoa(s.index)}
	if s.lane > 0 {
		parts = append(parts, strconv.Itoa(s.lane))
	}
	return store.KeyOf(parts...)
}

// placedBy returns the ID of the evaluation because of which something is
// placed: the one with which its version came or, where it takes the place of
// another allocation, that of this. The lock is held.
func (s *slot) placedBy(p placement, c *store.Change) (id string) {
	why, last := event.AllocFailure, placement{}
	if p.Replaces != "" {
		last = *s.last()
	}
	switch {
	case last.Stopped != "":
		return last.Stopped
	case p.Replaces != "" && last.Version != p.Version:
		why = event.DeploymentWatcher
	}
	if p.Replaces == "" || why == event.DeploymentWatcher && s.deployments.of(p.Version) == nil {
		s.host.state.Look(func(run *fold.Run) {
			if v := run.Version(s.key, p.Version); v != nil {
				id = v.Evaluation
			}
		})
		return id
	}
	return s.evaluate(why, p.Replaces, c)
}

// transit records how the present allocation should end. The caller must hold
// the lock, and store the slot's record.
func (s *slot) transit(how api.DesiredTransition) {
	s.last().Transition = &how
	s.host.allocs.transit(s.present, how)
}
