package engine

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// Submission returns the source of a job's version, or nil if it is not known.
// Like the version, it is read only.
func (e *Engine) Submission(key string, version uint64) *api.JobSubmission {
	source, _ := withJob(e, key, func(r *jobRun) (*api.JobSubmission, error) { return r.submission(version), nil })
	return source
}

// submission returns the source of a version, or nil. The caller must hold the
// lock.
func (r *jobRun) submission(version uint64) *api.JobSubmission {
	if !r.recorder.Durable() {
		return r.submissions[version]
	}
	var source api.JobSubmission
	switch ok, err := r.recorder.Get(r.numbered(submissionKey, version), &source); {
	case err != nil:
		r.host.notice("job %q: %v", *r.job.ID, err)
		return nil
	case !ok:
		return nil
	}
	return &source
}

// keepSubmission adds the source of a version to a change; source may be nil.
// The caller must hold the lock.
func (r *jobRun) keepSubmission(version uint64, source *api.JobSubmission, c *store.Change) {
	switch {
	case source == nil:
	case r.recorder.Durable():
		c.Put(r.numbered(submissionKey, version), source)
	default:
		r.submissions[version] = source
	}
}

// dropSubmission adds to a change that a version is forgotten. The caller must
// hold the lock.
func (r *jobRun) dropSubmission(version uint64, c *store.Change) {
	c.Drop(r.numbered(submissionKey, version))
	delete(r.submissions, version)
}
