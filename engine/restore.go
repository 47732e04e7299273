package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// restore brings the job into the state left by an earlier engine, or into its
// first state.
func (r *jobRun) restore() {
	recovery{r}.readOrder()
	recovery{r}.readVersions()
	r.mu.Lock()
	if !launches(r.job) {
		recovery{r}.deployFirst()
	}
	r.introduce()
	r.mu.Unlock()
	recovery{r}.readSlots()
	close(r.ready)
}

// recovery reads the records of a job that an earlier engine has stored.
type recovery struct{ *jobRun }

// readOrder stops the job if an earlier engine was told to stop it.
func (r recovery) readOrder() {
	if !r.recorder.Durable() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.recorder.Get(store.KeyOf(stoppedKey, r.key), &r.stopped); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
	if r.stopped {
		r.stop()
	}
}

// readVersions reads the stored versions and deployments.
func (r recovery) readVersions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions = versions{r.newest.Load()}
	if !r.recorder.Durable() {
		return
	}
	for _, key := range r.recorder.Keys(store.KeyOf(versionKey, r.key)) {
		var job api.Job
		if _, err := r.recorder.Get(key, &job); err != nil {
			r.host.notice("job %q: %v", *r.job.ID, err)
			continue
		}
		r.versions = append(r.versions, &job)
	}
	slices.SortFunc(r.versions, func(a, b *api.Job) int { return int(*a.Version) - int(*b.Version) })
	if _, err := r.recorder.Get(store.KeyOf(scalingKey, r.key), &r.scalings); err != nil {
		r.host.notice("job %q: %v", *r.job.ID, err)
	}
	r.readDeployments()
}

// readDeployments reads the stored deployments. The caller must hold the lock.
func (r recovery) readDeployments() {
	for _, key := range r.recorder.Keys(store.KeyOf(deploymentKey, r.key)) {
		var d deploymentRecord
		if _, err := r.recorder.Get(key, &d); err != nil || d.Deployment == nil {
			r.host.notice("job %q: %v", *r.job.ID, err)
			continue
		}
		d.status, d.description = d.Status, d.Description
		r.deployments = append(r.deployments, &d)
	}
	slices.SortFunc(r.deployments, func(a, b *deploymentRecord) int { return int(a.Version) - int(b.Version) })
}

// deployFirst starts the deployment of the first version. The caller must hold the
// lock.
func (r recovery) deployFirst() {
	r.changed = true
	job := r.newest.Load()
	if *job.Version > 0 || r.deployment() != nil || isStopped(job) {
		return
	}
	if d := health.NewDeployment(job, time.Now()); d != nil {
		r.deploy(d)
	}
}

// readSlots creates the stored slots with their allocations. A slot counts as
// living until it turns out to have nothing to do.
func (r recovery) readSlots() {
	if !r.recorder.Durable() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.recorder.Keys(store.KeyOf(slotKey, r.key)) {
		parts := append(key.Parts(), "0")
		index, err := strconv.Atoi(parts[3])
		lane, laneErr := strconv.Atoi(parts[4])
		s := r.newSlot(parts[2], index, lane)
		if err == nil && laneErr == nil {
			_, err = r.recorder.Get(key, &s.slotRecord)
		}
		if err != nil || laneErr != nil || len(s.Placed) == 0 {
			r.host.notice("cannot restore record %q: %v", parts, err)
			continue
		}
		s.restore()
		r.slots = append(r.slots, s)
	}
	r.adoptPorts()
	for _, s := range r.slots {
		s.proceed()
	}
}

// adoptPorts claims the static ports of the job of a resident engine, unless it
// is dead.
func (r recovery) adoptPorts() {
	if !r.host.cfg.Resident || launches(r.job) || r.home != r.jobRun {
		return
	}
	if len(r.slots) == 0 || slices.ContainsFunc(r.slots, func(s *slot) bool { return !s.restored.Over() }) {
		r.ports.AdoptStatic(r.newest.Load())
	}
}

// restore tracks the slot's kept allocations again.
func (s *slot) restore() {
	for _, p := range s.Placed {
		if s.restored != nil {
			s.kept = append(s.kept, s.restored)
		}
		cfg := s.config(p)
		s.restored = runner.Restore(cfg)
		s.host.allocs.track(s.restored)
		s.runs.finding.Go(s.restored.Found)
		if p.Unwanted != "" {
			s.host.allocs.mark(s.restored, p.Unwanted, p.isFinal())
		}
		if p.Transition != nil {
			s.host.allocs.transit(s.restored, *p.Transition)
		}
	}
}

// proceed lets a restored slot live again.
func (s *slot) proceed() {
	if cfg := s.restored.Config(); !s.restored.Over() {
		s.claimed = s.ports.Adopt(&cfg)
	}
	s.host.cores.Adopt(s.last().Cores)
	s.present, s.again = s.restored, s.last().Again
	s.begin()
	if s.last().Unwanted != "" {
		s.present.Stop()
	}
}
