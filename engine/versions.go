package engine

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// keptVersions is how many versions of a job are kept, as in Nomad; a stable
// one, tagged ones, and those that allocations are of, beyond that.
const keptVersions = 6

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

// tagged returns the place of the version with a tag, below 0 if there is none.
// The lock is held.
func (r *jobRun) tagged(name string) int {
	return slices.IndexFunc(r.versions, func(job *api.Job) bool { return job.VersionTag != nil && job.VersionTag.Name == name })
}

// setTag puts a version with another tag in the place of one. The lock is held.
func (r *jobRun) setTag(i int, tag *api.JobVersionTag) {
	job := *r.versions[i]
	job.VersionTag = tag
	r.versions[i] = &job
	key := r.versionKey(*job.Version)
	if *job.Version == *r.newest.Load().Version {
		r.newest.Store(&job)
		key = store.KeyOf(jobKey, *job.ID)
	}
	var c store.Change
	if r.recorder.Durable() {
		c.Put(key, &job)
	}
	r.tellVersion(&job, &c)
	r.recorder.Commit(c)
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
