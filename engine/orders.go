package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// Plan returns what Update would do at once with another version of a job,
// which must be canonicalized. All allocations of a job that is not running
// would be placed. Plan changes nothing, and returns the same errors as Update.
func (e *Engine) Plan(job *api.Job) (*update.Plan, error) {
	r, err := e.runs.find(e.keyOf(job))
	if err != nil { // the job is not running
		if err := e.checkSize(job, nil); err != nil {
			return nil, err
		}
		return update.New(nil, job, nil, nil), nil
	}
	r.lock()
	defer r.mu.Unlock()
	had := len(r.ports.static)
	plan, err := r.plan(job)
	r.ports.releaseStatic(had)
	return plan, err
}

// Update makes a canonicalized and valid version of a job the newest one, and
// returns the plan. It does not wait: the job's deployment, if there is one,
// shows the progress. An unchanged version is a no-op. The engine owns job from
// then on.
func (e *Engine) Update(job *api.Job) (*update.Plan, error) {
	return withJob(e, e.keyOf(job), func(r *jobRun) (*update.Plan, error) {
		return r.update(job, registration{trigger: event.JobRegister})
	})
}

// Versions returns the kept versions of a job, newest first. They are read
// only.
func (e *Engine) Versions(id string) ([]*api.Job, error) {
	return withJob(e, id, func(r *jobRun) ([]*api.Job, error) {
		kept := r.versions.kept()
		slices.Reverse(kept)
		return kept, nil
	})
}

// Revert makes an earlier version of a job the newest one again. If prior is
// set, it must be the number of the current version. The errors are Nomad's.
func (e *Engine) Revert(id string, to uint64, prior *uint64) (*update.Plan, error) {
	return withJob(e, id, func(r *jobRun) (*update.Plan, error) {
		now := *r.newest.Load().Version
		kept := r.versions.kept()
		i := kept.index(to)
		switch {
		case prior != nil && *prior != now:
			return nil, fmt.Errorf("Current job has version %d; enforcing version %d", now, *prior) //nolint:staticcheck // Nomad's words
		case to == now:
			return nil, fmt.Errorf("can't revert to current version")
		case i < 0:
			return nil, fmt.Errorf("job %q in namespace %q at version %d not found", id, *r.job.Namespace, to)
		}
		job := *kept[i]
		return r.update(&job, registration{trigger: event.JobRegister, submission: r.submission(to)})
	})
}

// Errors of Tag and Untag.
var (
	ErrNoVersion = errors.New("there is no such version")
	ErrTagged    = errors.New("another version has that tag")
)

// Tag names a version of a job, the newest one if number is nil. A tagged
// version is kept regardless of its age. A version has one tag, the latest. Tag
// returns ErrNoVersion, ErrTagged, or an error for an unknown job.
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

// Untag removes a tag from its version. It returns ErrNoVersion, or an error
// for an unknown job.
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

// Evaluate creates an evaluation of a job and returns its ID. With reschedule,
// it replaces the failed allocations now, regardless of the job's reschedule
// blocks: those that wait and those that were given up.
func (e *Engine) Evaluate(id string, reschedule bool) (evaluation string, err error) {
	return withJob(e, id, func(r *jobRun) (evaluation string, err error) {
		var c store.Change
		evaluation = r.evaluate(event.JobRegister, "", &c)
		r.recorder.Commit(c)
		if reschedule {
			err = r.reschedule()
		}
		return evaluation, err
	})
}

// Submission returns the source of a job's version, or nil if it is not known.
// Like the version, it is read only.
func (e *Engine) Submission(key string, version uint64) *api.JobSubmission {
	source, _ := withJob(e, key, func(r *jobRun) (*api.JobSubmission, error) { return r.submission(version), nil })
	return source
}

// ForgetEvaluations forgets the evaluations that choose returns.
func (e *Engine) ForgetEvaluations(choose func(*fold.Run) []*fold.Evaluation) {
	var gone []*fold.Evaluation
	e.state.Look(func(run *fold.Run) { gone = slices.Clone(choose(run)) })
	for _, r := range e.runs.all() {
		var c store.Change
		r.forgetEvaluations(slices.DeleteFunc(slices.Clone(gone), func(v *fold.Evaluation) bool { return !r.owns(v) }), &c)
		r.recorder.Commit(c)
	}
}
