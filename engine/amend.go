package engine

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// add makes a numbered version the newest one. The caller must hold the lock.
func (h *history) add(job *api.Job, source *api.JobSubmission, c *store.Change) {
	before := h.newest.Load()
	h.versions = append(h.versions, job)
	h.newest.Store(job)
	if h.recorder.Durable() {
		c.Put(h.numbered(versionKey, *before.Version), before)
		c.Put(store.KeyOf(jobKey, h.key), job)
	}
	h.keepSubmission(*job.Version, source, c)
}

// amend replaces the version at index i with a changed copy. The caller must
// hold the lock.
func (h *history) amend(i int, c *store.Change, change func(*api.Job)) {
	job := *h.versions[i]
	change(&job)
	h.versions[i] = &job
	key := h.numbered(versionKey, *job.Version)
	if *job.Version == *h.newest.Load().Version {
		h.newest.Store(&job)
		key = store.KeyOf(jobKey, h.key)
	}
	if h.recorder.Durable() {
		c.Put(key, &job)
	}
	h.tellVersion(&job, c)
}

// revise amends a version and commits that. The caller must hold the lock.
func (h *history) revise(i int, change func(*api.Job)) {
	var c store.Change
	h.amend(i, &c, change)
	h.recorder.Commit(c)
}

// forgetVersions drops the versions that are neither kept nor needed by
// allocations, with their deployments. The caller must hold the lock.
func (h *history) forgetVersions(needed map[uint64]bool, c *store.Change) {
	for _, job := range h.versions.kept() {
		needed[*job.Version] = true
	}
	var gone []uint64
	h.versions = slices.DeleteFunc(h.versions, func(job *api.Job) bool {
		n := *job.Version
		if needed[n] {
			return false
		}
		c.Drop(h.numbered(versionKey, n))
		c.Drop(h.numbered(deploymentKey, n))
		h.dropSubmission(n, c)
		deployment := ""
		if d := h.deployments.of(n); d != nil {
			deployment = d.ID
		}
		c.ForgetVersion(h.key, n, deployment)
		gone = append(gone, n)
		h.deployments = slices.DeleteFunc(h.deployments, func(d *deploymentRecord) bool { return d.Version == n })
		return true
	})
	if len(gone) > 0 {
		h.host.bus.Publish(nil, "", event.Forgotten{Job: h.key, Versions: gone})
	}
}

// keptScalings is how many scaling events of a group are kept, as in Nomad.
const keptScalings = 20

// note keeps a scaling event, newest first, and publishes it. The caller must
// hold the lock.
func (h *history) note(group string, e api.ScalingEvent) {
	events := append([]api.ScalingEvent{e}, h.scalings[group]...)
	h.scalings[group] = events[:min(len(events), keptScalings)]
	if h.recorder.Durable() {
		var c store.Change
		c.Put(store.KeyOf(scalingKey, h.key), h.scalings)
		h.recorder.Commit(c)
	}
	h.host.bus.Publish(nil, "", event.Scaled{Job: h.key})
}

// announce stores a version that is about to be registered, and adds to the change
// that registers it that this is done: if there is no room for the version, its
// registration fails before it changes anything.
func (h *history) announce(job *api.Job, submission *api.JobSubmission, c *store.Change) error {
	var next store.Change
	key := store.KeyOf(announcedKey, h.key)
	next.Put(key, []any{job, submission})
	if err := h.recorder.Try(next); err != nil {
		return fmt.Errorf("cannot keep the next version of job %q: %w", *job.ID, err)
	}
	c.Drop(key)
	return nil
}

// purge marks the job as one to forget. The caller must hold the lock.
func (h *history) purge(c *store.Change) {
	h.purged.Store(true)
	c.ForgetJob(h.key)
	c.Put(store.KeyOf(purgedKey, h.key), true)
}

// submission returns the source of a version, or nil. The caller must hold the
// lock.
func (h *history) submission(version uint64) *api.JobSubmission {
	if !h.recorder.Durable() {
		return h.submissions[version]
	}
	var source api.JobSubmission
	switch ok, err := h.recorder.Get(h.numbered(submissionKey, version), &source); {
	case err != nil:
		h.host.notice("job %q: %v", *h.newest.Load().ID, err)
		return nil
	case !ok:
		return nil
	}
	return &source
}

// keepSubmission adds the source of a version to a change; source may be nil.
// The caller must hold the lock.
func (h *history) keepSubmission(version uint64, source *api.JobSubmission, c *store.Change) {
	switch {
	case source == nil:
	case h.recorder.Durable():
		c.Put(h.numbered(submissionKey, version), source)
	default:
		h.submissions[version] = source
	}
}

// dropSubmission adds to a change that a version is forgotten. The caller must
// hold the lock.
func (h *history) dropSubmission(version uint64, c *store.Change) {
	c.Drop(h.numbered(submissionKey, version))
	delete(h.submissions, version)
}
