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

// keptVersions is how many versions of a job are kept, as in Nomad; a stable
// one, tagged ones, and those that allocations are of, beyond that.
const keptVersions = 6

// version returns a version of the job; of one that is not kept the newest. The
// lock is held.
func (r *jobRun) version(n uint64) *api.Job {
	for _, job := range r.versions {
		if *job.Version == n {
			return job
		}
	}
	return r.newest.Load()
}

// Versions returns the versions of a job that are kept, the newest first. They
// are read only.
func (e *Engine) Versions(id string) ([]*api.Job, error) {
	r, err := e.find(id)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	versions := slices.Clone(r.versions)
	slices.Reverse(versions)
	return versions, nil
}

func (r *jobRun) versionKey(n uint64) store.Key {
	return store.KeyOf(versionKey, *r.job.ID, strconv.FormatUint(n, 10))
}

// restoreVersions reads the versions and deployments that an earlier engine has
// stored.
func (r *jobRun) restoreVersions() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions = []*api.Job{r.newest.Load()}
	if !r.recorder.Durable() {
		return
	}
	for _, key := range r.recorder.Keys(store.KeyOf(versionKey, *r.job.ID)) {
		var job api.Job
		if _, err := r.recorder.Get(key, &job); err != nil {
			r.notice("job %q: %v", *r.job.ID, err)
			continue
		}
		r.versions = append(r.versions, &job)
	}
	slices.SortFunc(r.versions, func(a, b *api.Job) int { return int(*a.Version) - int(*b.Version) })
	if _, err := r.recorder.Get(store.KeyOf(scalingKey, *r.job.ID), &r.scalings); err != nil {
		r.notice("job %q: %v", *r.job.ID, err)
	}
	r.restoreDeployments()
}

// register makes a version the newest, with a deployment of its own. One that
// was good before needs no canaries. The lock is held; c is to be committed by
// advance.
func (r *jobRun) register(job *api.Job, proven bool, c *store.Change) {
	before := r.newest.Load()
	if d := r.deployment(); d != nil {
		d.Supersede()
		r.tell(d, c)
	}
	job.Version, job.Stable = new(*before.Version+1), new(false)
	job.SubmitTime, job.VersionTag = new(time.Now().UnixNano()), nil
	job.ParentID, job.Payload, job.Dispatched = before.ParentID, before.Payload, before.Dispatched
	deployment := health.NewDeployment(job, time.Now())
	if !proven {
		places, _ := r.places()
		deployment = update.Begin(job, r.version, places, time.Now())
	}
	r.versions = append(r.versions, job)
	r.newest.Store(job)
	if r.recorder.Durable() {
		c.Put(r.versionKey(*before.Version), before)
		c.Put(store.KeyOf(jobKey, *job.ID), job)
	}
	if deployment != nil {
		r.deploy(deployment)
	}
	r.tellVersion(job, c)
	r.evaluate(event.JobRegister, "", c)
	r.forgetVersions(c)
	r.changed, r.excess = true, r.reserved
	c.Add(event.Event{Time: time.Now(), Body: event.Notice{Text: fmt.Sprintf("job %q: version %d", *job.ID, *job.Version)}})
	r.look()
}

// stabilise marks a version as one to go back to. The lock is held.
func (r *jobRun) stabilise(n uint64, c *store.Change) {
	i := slices.IndexFunc(r.versions, func(job *api.Job) bool { return *job.Version == n })
	if i < 0 {
		return
	}
	job := *r.versions[i]
	job.Stable = new(true)
	r.versions[i] = &job
	key := r.versionKey(n)
	if n == *r.newest.Load().Version {
		r.newest.Store(&job)
		key = store.KeyOf(jobKey, *job.ID)
	}
	if r.recorder.Durable() {
		c.Put(key, &job)
	}
	r.tellVersion(&job, c)
}

// forgetVersions drops the versions that nobody needs, and their deployments.
func (r *jobRun) forgetVersions(c *store.Change) {
	needed := map[uint64]bool{}
	for _, s := range r.slots {
		needed[s.Want] = true
		for _, p := range s.Placed {
			needed[p.Version] = true
		}
	}
	stable := false
	for i, job := range slices.Backward(r.versions) {
		n := *job.Version
		recent := i >= len(r.versions)-keptVersions
		if recent || job.VersionTag != nil || !stable && job.Stable != nil && *job.Stable {
			needed[n] = true
		}
		stable = stable || job.Stable != nil && *job.Stable
	}
	var gone []uint64
	r.versions = slices.DeleteFunc(r.versions, func(job *api.Job) bool {
		n := *job.Version
		if needed[n] {
			return false
		}
		c.Drop(r.versionKey(n))
		c.Drop(r.deploymentKey(n))
		deployment := ""
		if d := r.deploymentOf(n); d != nil {
			deployment = d.ID
		}
		c.ForgetVersion(*r.job.ID, n, deployment)
		gone = append(gone, n)
		r.deployments = slices.DeleteFunc(r.deployments, func(d *deploymentRecord) bool { return d.Version == n })
		return true
	})
	if len(gone) > 0 {
		r.engine.bus.Publish(nil, "", event.Forgotten{Job: *r.job.ID, Versions: gone})
	}
}

// Revert makes an earlier version of a job the newest one again. With prior the
// present one must be of that number. The errors are Nomad's.
func (e *Engine) Revert(id string, to uint64, prior *uint64) (*update.Plan, error) {
	r, err := e.find(id)
	if err != nil {
		return nil, err
	}
	r.lock()
	defer r.mu.Unlock()
	now := *r.newest.Load().Version
	i := slices.IndexFunc(r.versions, func(job *api.Job) bool { return *job.Version == to })
	switch {
	case prior != nil && *prior != now:
		return nil, fmt.Errorf("Current job has version %d; enforcing version %d", now, *prior) //nolint:staticcheck // Nomad's words
	case to == now:
		return nil, fmt.Errorf("can't revert to current version")
	case i < 0:
		return nil, fmt.Errorf("job %q in namespace %q at version %d not found", id, *r.job.Namespace, to)
	}
	job := *r.versions[i]
	return r.update(&job)
}

// stable returns the latest version that was stable, other than the newest; nil
// for none. The lock is held.
func (r *jobRun) stable() *api.Job {
	for _, job := range slices.Backward(r.versions[:len(r.versions)-1]) {
		if job.Stable != nil && *job.Stable {
			return job
		}
	}
	return nil
}
