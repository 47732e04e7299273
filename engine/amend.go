package engine

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// amend replaces the version at index i with a changed copy. The caller must
// hold the lock.
func (r *jobRun) amend(i int, c *store.Change, change func(*api.Job)) {
	job := *r.versions[i]
	change(&job)
	r.versions[i] = &job
	key := r.numbered(versionKey, *job.Version)
	if *job.Version == *r.newest.Load().Version {
		r.newest.Store(&job)
		key = store.KeyOf(jobKey, r.key)
	}
	if r.recorder.Durable() {
		c.Put(key, &job)
	}
	r.tellVersion(&job, c)
}

// forgetVersions drops the versions that are not kept, with their deployments,
// unless they still have allocations. The caller must hold the lock.
func (r *jobRun) forgetVersions(c *store.Change) {
	needed := map[uint64]bool{}
	for _, s := range r.slots {
		needed[s.Want] = true
		for _, p := range s.Placed {
			needed[p.Version] = true
		}
	}
	for _, job := range r.versions.kept() {
		needed[*job.Version] = true
	}
	var gone []uint64
	r.versions = slices.DeleteFunc(r.versions, func(job *api.Job) bool {
		n := *job.Version
		if needed[n] {
			return false
		}
		c.Drop(r.numbered(versionKey, n))
		c.Drop(r.numbered(deploymentKey, n))
		r.dropSubmission(n, c)
		deployment := ""
		if d := r.deployments.of(n); d != nil {
			deployment = d.ID
		}
		c.ForgetVersion(r.key, n, deployment)
		gone = append(gone, n)
		r.deployments = slices.DeleteFunc(r.deployments, func(d *deploymentRecord) bool { return d.Version == n })
		return true
	})
	if len(gone) > 0 {
		r.host.bus.Publish(nil, "", event.Forgotten{Job: r.key, Versions: gone})
	}
}
