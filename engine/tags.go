package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// The errors of tags.
var (
	ErrNoVersion = errors.New("there is no such version")
	ErrTagged    = errors.New("another version has that tag")
)

// Tag names a version of a job, which is kept then, however many come after it.
// nil is the newest one. A version has one tag: the latest. The error is
// ErrNoVersion or ErrTagged, or the job is not known.
func (e *Engine) Tag(id string, number *uint64, name, description string) error {
	r, err := e.runs.find(id)
	if err != nil {
		return err
	}
	r.lock()
	defer r.mu.Unlock()
	if number == nil {
		number = r.newest.Load().Version
	}
	if i := r.versions.tagged(name); i >= 0 && *r.versions[i].Version != *number {
		return fmt.Errorf("tag %q of job %q: %w: version %d", name, id, ErrTagged, *r.versions[i].Version)
	}
	i := r.versions.index(*number)
	if i < 0 {
		return fmt.Errorf("version %d of job %q: %w", *number, id, ErrNoVersion)
	}
	r.tag(i, &api.JobVersionTag{Name: name, Description: description, TaggedTime: time.Now().UnixNano()})
	return nil
}

// Untag takes the name from a version of a job. The error is ErrNoVersion, or
// the job is not known.
func (e *Engine) Untag(id, name string) error {
	r, err := e.runs.find(id)
	if err != nil {
		return err
	}
	r.lock()
	defer r.mu.Unlock()
	i := r.versions.tagged(name)
	if i < 0 {
		return fmt.Errorf("tag %q of job %q: %w", name, id, ErrNoVersion)
	}
	r.tag(i, nil)
	return nil
}

func (r *jobRun) tag(i int, tag *api.JobVersionTag) {
	var c store.Change
	r.amend(i, &c, func(job *api.Job) { job.VersionTag = tag })
	r.recorder.Commit(c)
}
