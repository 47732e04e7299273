package engine

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

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
