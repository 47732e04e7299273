package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
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
	r, err := e.find(id)
	if err != nil {
		return err
	}
	r.lock()
	defer r.mu.Unlock()
	if number == nil {
		number = r.newest.Load().Version
	}
	if i := r.tagged(name); i >= 0 && *r.versions[i].Version != *number {
		return fmt.Errorf("tag %q of job %q: %w: version %d", name, id, ErrTagged, *r.versions[i].Version)
	}
	i := slices.IndexFunc(r.versions, func(job *api.Job) bool { return *job.Version == *number })
	if i < 0 {
		return fmt.Errorf("version %d of job %q: %w", *number, id, ErrNoVersion)
	}
	r.setTag(i, &api.JobVersionTag{Name: name, Description: description, TaggedTime: time.Now().UnixNano()})
	return nil
}

// Untag takes the name from a version of a job. The error is ErrNoVersion, or
// the job is not known.
func (e *Engine) Untag(id, name string) error {
	r, err := e.find(id)
	if err != nil {
		return err
	}
	r.lock()
	defer r.mu.Unlock()
	i := r.tagged(name)
	if i < 0 {
		return fmt.Errorf("tag %q of job %q: %w", name, id, ErrNoVersion)
	}
	r.setTag(i, nil)
	return nil
}
