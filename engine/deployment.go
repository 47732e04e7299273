package engine

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// deploymentRecord is what is stored of a deployment.
type deploymentRecord struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	*health.Deployment

	unsaved             bool
	status, description string // that were told
}

func (r *jobRun) deploymentKey(version uint64) store.Key {
	return store.KeyOf(deploymentKey, *r.job.ID, strconv.FormatUint(version, 10))
}

// deploy begins the deployment of the newest version. The lock is held.
func (r *jobRun) deploy(d *health.Deployment) {
	r.deployments = append(r.deployments, &deploymentRecord{ID: event.NewID(), Began: time.Now(), Deployment: d})
}

// deployment is that of the newest version; nil when it has none. The lock is
// held.
func (r *jobRun) deployment() *deploymentRecord { return r.deploymentOf(*r.newest.Load().Version) }

func (r *jobRun) deploymentOf(version uint64) *deploymentRecord {
	for _, d := range slices.Backward(r.deployments) {
		if d.Version == version {
			return d
		}
	}
	return nil
}

// restoreDeployments reads what an earlier engine has stored. The first version
// gets its deployment here.
func (r *jobRun) restoreDeployments() {
	for _, key := range r.recorder.Keys(store.KeyOf(deploymentKey, *r.job.ID)) {
		var d deploymentRecord
		if _, err := r.recorder.Get(key, &d); err != nil || d.Deployment == nil {
			r.notice("job %q: %v", *r.job.ID, err)
			continue
		}
		d.status, d.description = d.Status, d.Description
		r.deployments = append(r.deployments, &d)
	}
	slices.SortFunc(r.deployments, func(a, b *deploymentRecord) int { return int(a.Version) - int(b.Version) })
}

// deployFirst begins the deployment of the first version.
func (r *jobRun) deployFirst() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = true
	job := r.newest.Load()
	if *job.Version > 0 || r.deployment() != nil {
		return
	}
	if d := health.NewDeployment(job, time.Now()); d != nil {
		r.deploy(d)
	}
}

// report hands the verdict on an allocation of the slot to its deployment.
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

// tell adds what is new of a deployment to a change, and draws the conclusions.
// It reports whether there is another version of the job now.
func (r *jobRun) tell(d *deploymentRecord, c *store.Change) (another bool) {
	isNew := d.Status != d.status || d.Description != d.description
	if !isNew && !d.unsaved {
		return false
	}
	var next *api.Job
	if d.Revert && d.Status != d.status {
		next = r.goBack(d)
	}
	if d.Status == health.DeploymentFailed && d.Status != d.status && *r.job.Type == api.JobTypeSystem {
		r.replaceFailed()
	}
	if d.Status == health.DeploymentSuccessful && d.Status != d.status {
		r.stabilise(d.Version, c)
	}
	d.unsaved, d.status, d.description = false, d.Status, d.Description
	if r.recorder.Durable() {
		c.Put(r.deploymentKey(d.Version), *d)
	}
	if isNew {
		r.changed = true
		c.Add(event.Event{Time: time.Now(), Body: event.Deployment{
			ID: d.ID, Job: *r.job.ID, Version: d.Version, Status: d.Status, Description: d.Description, Canarying: d.Canarying(),
		}})
	}
	if next == nil {
		return false
	}
	r.register(next, true, c)
	return true
}

// goBack returns the version to which a failed deployment leads back, if there
// is one, and says so.
func (r *jobRun) goBack(d *deploymentRecord) *api.Job {
	stable := r.stable()
	switch {
	case stable == nil:
		d.Description += " - no stable job version to auto revert to"
		return nil
	case update.Same(r.newest.Load(), stable):
		d.Description += fmt.Sprintf(" - not rolling back to stable job version %d as current job has same specification", *stable.Version)
		return nil
	}
	job := *stable
	if err := r.admit(&job); err != nil {
		r.notice("cannot roll job %q back to version %d: %v", *job.ID, *stable.Version, err)
		return nil
	}
	d.Description += fmt.Sprintf(" - rolling back to job version %d", *stable.Version)
	return &job
}
