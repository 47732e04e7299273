package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/restart"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// advance brings the deployment and the slots into the state they should have
// now, and stores that together with c. It returns when to check again. The
// caller must hold the lock.
func (r *jobRun) advance(c *store.Change) (again time.Time) {
	if d := r.deployment(); d != nil {
		if r.stopping.Err() != nil && !r.host.cfg.Resident {
			d.Cancel()
		} else {
			again = d.Tick(time.Now())
		}
		if r.tell(d, c) { // another version may have come with it
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
	if r.ports.Excess && !r.waits && !slices.ContainsFunc(r.slots, func(s *slot) bool {
		return s.present != nil && s.last().Version != *r.newest.Load().Version
	}) {
		r.ports.KeepStatic(r.newest.Load())
	}
	return again
}

// rollOut decides what happens to the slots, and returns functions that carry it
// out once the decision is stored. Their start need not be stored: a crash before
// this point repeats the decision.
func (r *jobRun) rollOut(c *store.Change) (carryOut []func()) {
	job := r.newest.Load()
	places, slots := r.slots.places()
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
			r.ports.Plan(job.LookupTaskGroup(s.group), s.index, s.lane)
			carryOut = append(carryOut, s.begin)
			continue
		}
		s := slots[o.At]
		switch o.Action {
		case update.Start:
		case update.Replace, update.Reschedule:
			if o.Action == update.Reschedule {
				_, delay, _ := retryOf(s)
				s.Earlier = s.policy().Keep(s.Earlier, restart.Replacement{Time: time.Now(), Delay: delay, Alloc: s.last().ID})
			} else {
				s.Earlier = nil
			}
			s.Want = *job.Version
			r.ports.Plan(job.LookupTaskGroup(s.group), s.index, s.lane)
			carryOut = append(carryOut, s.catchUp, s.begin)
		case update.Change, update.Promote:
			if places[o.At].State == update.Failed { // the policy of its own version counts
				if _, _, s.resumes = retryOf(s); s.resumes {
					carryOut = append(carryOut, s.begin)
				}
			}
			s.move(*job.Version)
			carryOut = append(carryOut, s.adjust)
		case update.Stop:
			s.Gone = true
			carryOut = append(carryOut, s.catchUp)
		}
		if why := s.unwanted(); why != "" && r.host.allocs.refuse(s.present, why, false, s.last().Canary) {
			s.last().Unwanted = why
		}
		if len(s.Placed) > 0 && r.recorder.Durable() {
			record := s.slotRecord
			c.Put(s.record(), record)
		}
	}
	return carryOut
}

func (r *jobRun) newSlot(group string, index, lane int) *slot {
	s := &slot{jobRun: r, group: group, index: index, lane: lane, wake: make(chan struct{}, 1)}
	s.onVerdict = s.report
	return s
}

// slotFor returns a slot for an allocation with an index. It reuses one that
// was given up if possible. The caller must hold the lock.
func (r *jobRun) slotFor(group string, index int, canary bool) *slot {
	var same []*slot
	for _, s := range r.slots {
		if s.group == group && s.index == index {
			same = append(same, s)
		}
	}
	for _, s := range same {
		if s.Gone && (!s.living || !canary && !s.Canary) {
			s.Gone, s.again = false, s.living // the allocation that is still ending goes first
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

// report passes the health verdict on an allocation of the slot to its
// deployment.
func (s *slot) report(alloc string, v health.Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.deployment()
	if d == nil || s.last().ID != alloc || s.last().Version != d.Version {
		return
	}
	replaced := *s.job.Type != api.JobTypeSystem && s.retryLocked(time.Now()) >= 0
	d.Report(s.group, alloc, v, replaced, time.Now())
	d.unsaved = true
	s.advance(&store.Change{})
	s.look()
}

// tell adds the news of a deployment to a change and acts on them. It reports
// whether the job now has another version. The caller must hold the lock.
func (r *jobRun) tell(d *deploymentRecord, c *store.Change) (another bool) {
	isNew := d.Status != d.status || d.Description != d.description
	if !isNew && !d.unsaved {
		return false
	}
	var next *api.Job
	if d.Revert && d.Status != d.status {
		next = r.goBack(d)
	}
	if d.Status == health.DeploymentFailed && d.Status != d.status {
		if *r.job.Type == api.JobTypeSystem {
			r.slots.replaceFailed()
		}
		for _, s := range r.slots {
			s.nudge() // it may wait to replace an allocation
		}
	}
	if d.Status == health.DeploymentSuccessful && d.Status != d.status {
		if i := r.versions.index(d.Version); i >= 0 {
			r.amend(i, c, func(job *api.Job) { job.Stable = new(true) })
		}
	}
	d.unsaved, d.status, d.description = false, d.Status, d.Description
	if r.recorder.Durable() {
		c.Put(r.numbered(deploymentKey, d.Version), *d)
	}
	if isNew {
		r.changed = true
		if !d.Active() {
			r.forgetVersions(r.slots.versions(), c)
		}
		c.Add(event.Event{Time: time.Now(), Body: event.Deployment{
			ID: d.ID, Job: r.key, Version: d.Version, Status: d.Status, Description: d.Description, Canarying: d.Canarying(),
		}})
	}
	if next == nil {
		return false
	}
	r.register(next, registration{trigger: event.JobRegister, proven: true, derived: true, submission: r.submission(*next.Version)}, c)
	return true
}

// goBack returns the version to which a failed deployment reverts, or nil, and
// publishes a notice about it.
func (r *jobRun) goBack(d *deploymentRecord) *api.Job {
	i := r.versions[:len(r.versions)-1].stable()
	if i < 0 {
		d.Description += " - no stable job version to auto revert to"
		return nil
	}
	stable := r.versions[i]
	if update.Same(r.newest.Load(), stable) {
		d.Description += fmt.Sprintf(" - not rolling back to stable job version %d as current job has same specification", *stable.Version)
		return nil
	}
	job := *stable
	if err := r.admit(&job); err != nil {
		r.host.notice("cannot roll job %q back to version %d: %v", *job.ID, *stable.Version, err)
		return nil
	}
	d.Description += fmt.Sprintf(" - rolling back to job version %d", *stable.Version)
	return &job
}

// registration is how a version becomes the newest one.
type registration struct {
	trigger    event.Trigger      // of its evaluation
	priority   int                // likewise; 0: that of the job
	proven     bool               // it needs no canaries
	derived    bool               // from an earlier version: it is stable if that one is
	submission *api.JobSubmission // its source; nil: not known
	quiet      bool               // no notice tells of it
}

// register makes a version the newest one, with its own deployment, and returns
// the ID of its evaluation. The caller must hold the lock and commit c with
// advance.
func (r *jobRun) register(job *api.Job, how registration, c *store.Change) (evaluation string) {
	if d := r.deployment(); d != nil {
		if isStopped(job) {
			d.Cancel()
		} else {
			d.Supersede()
		}
		r.tell(d, c)
	}
	r.number(job)
	if !how.derived {
		job.Stable = new(false)
	}
	places, _ := r.slots.places()
	deployment := update.Begin(job, r.version, places, how.proven, time.Now())
	r.add(job, how.submission, c)
	if deployment != nil && !isStopped(job) {
		r.deploy(deployment)
	}
	r.tellVersion(job, c)
	evaluation = r.evaluateWith(event.Evaluation{Trigger: how.trigger, Priority: how.priority}, c)
	r.forgetVersions(r.slots.versions(), c)
	r.changed, r.ports.Excess = true, r.ports.Reserved
	if !how.quiet {
		c.Add(event.Event{Time: time.Now(), Body: event.Notice{Text: fmt.Sprintf("job %q: version %d", *job.ID, *job.Version)}})
	}
	r.look()
	return evaluation
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
