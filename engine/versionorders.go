package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// Versions returns the kept versions of a job, newest first. They are read
// only.
func (j JobHandle) Versions() ([]*api.Job, error) {
	return withJob(j.engine, j.key, func(r *jobRun) ([]*api.Job, error) {
		kept := r.versions.kept()
		slices.Reverse(kept)
		return kept, nil
	})
}

// Revert makes an earlier version of a job the newest one again. If prior is
// set, it must be the number of the current version. The errors are Nomad's.
func (j JobHandle) Revert(to uint64, prior *uint64) (*update.Plan, error) {
	return withJob(j.engine, j.key, func(r *jobRun) (*update.Plan, error) {
		now := *r.newest.Load().Version
		kept := r.versions.kept()
		i := kept.index(to)
		switch {
		case prior != nil && *prior != now:
			return nil, fmt.Errorf("Current job has version %d; enforcing version %d", now, *prior) //nolint:staticcheck // Nomad's words
		case to == now:
			return nil, fmt.Errorf("can't revert to current version")
		case i < 0:
			return nil, r.noVersion(to)
		}
		job := *kept[i]
		return r.update(&job, registration{trigger: event.JobRegister, submission: r.submission(to)})
	})
}

// SetStable says whether a version of the job is stable, that is, whether a failed
// deployment may revert to it. A successful deployment makes its version stable, too.
func (j JobHandle) SetStable(version uint64, stable bool) error {
	return j.order(func(r *jobRun) error {
		i := r.versions.index(version)
		if i < 0 {
			return r.noVersion(version)
		}
		r.revise(i, func(job *api.Job) { job.Stable = &stable })
		return nil
	})
}

// noVersion is Nomad's error for a version that the job does not have.
func (h *history) noVersion(number uint64) error {
	job := h.newest.Load()
	return fmt.Errorf("job %q in namespace %q at version %d not found", *job.ID, *job.Namespace, number)
}

// Errors of Tag and Untag.
var (
	ErrNoVersion = errors.New("not found")
	ErrTagged    = errors.New("already exists on a different version")
)

// Tag names a version of the job, the newest one if number is nil. A tagged
// version is kept regardless of its age. A version has one tag, the latest. Tag
// returns ErrNoVersion, ErrTagged, or an error for an unknown job.
func (j JobHandle) Tag(number *uint64, name, description string) error {
	return j.order(func(r *jobRun) error {
		if number == nil {
			number = r.newest.Load().Version
		}
		if i := r.versions.tagged(name); i >= 0 && *r.versions[i].Version != *number {
			return fmt.Errorf("tag %q %w of job %q: version %d", name, ErrTagged, j.key, *r.versions[i].Version)
		}
		i := r.versions.index(*number)
		if i < 0 {
			return fmt.Errorf("job %q version %d %w", j.key, *number, ErrNoVersion)
		}
		tag := &api.JobVersionTag{Name: name, Description: description, TaggedTime: time.Now().UnixNano()}
		r.revise(i, func(job *api.Job) { job.VersionTag = tag })
		return nil
	})
}

// Untag removes a tag from its version. It returns ErrNoVersion, or an error
// for an unknown job.
func (j JobHandle) Untag(name string) error {
	return j.order(func(r *jobRun) error {
		i := r.versions.tagged(name)
		if i < 0 {
			return fmt.Errorf("tag %q %w on job %q", name, ErrNoVersion, j.key)
		}
		r.revise(i, func(job *api.Job) { job.VersionTag = nil })
		return nil
	})
}

// Submission returns the source of a job's version, or nil if it is not known.
// Like the version, it is read only.
func (j JobHandle) Submission(version uint64) *api.JobSubmission {
	source, _ := withJob(j.engine, j.key, func(r *jobRun) (*api.JobSubmission, error) { return r.submission(version), nil })
	return source
}

// Evaluate creates an evaluation of a job and returns its ID. With reschedule,
// it replaces the failed allocations now, regardless of the job's reschedule
// blocks: those that wait and those that were given up.
func (j JobHandle) Evaluate(reschedule bool) (evaluation string, err error) {
	return withJob(j.engine, j.key, func(r *jobRun) (evaluation string, err error) {
		var c store.Change
		evaluation = r.evaluate(event.JobRegister, "", &c)
		r.recorder.Commit(c)
		if reschedule {
			err = r.reschedule()
		}
		return evaluation, err
	})
}
