package engine

import (
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
	"taskrun/engine/update"
)

// Resident reports whether the engine takes new jobs at any time.
func (e *Engine) Resident() bool { return e.cfg.Resident }

// Registration is an order to run a version of a job.
type Registration struct {
	Job        *api.Job           // canonicalized and valid; the engine owns it from then on
	Submission *api.JobSubmission // the source of the job, if known
	// Quiet: no notice tells of the version, because the caller does.
	Quiet bool
	// EvalPriority is the priority of the evaluation; 0 means that of the job.
	EvalPriority int
	// Admit, if set, is called with the newest version of the job (nil if there
	// is none) before anything changes. It may change Job. Its error refuses the
	// registration.
	Admit func(now *api.Job) error
}

// Register makes a job of a resident engine run: a new one, another version of a
// known one, or one that is stopping or dead, which then lives again. It returns
// before anything is placed, but a later engine will know of the job. If it
// fails, nothing has changed. The errors are those of Submit; an
// engine that is not resident only takes versions of the jobs it runs.
func (e *Engine) Register(order Registration) (Registered, error) {
	key := e.keyOf(order.Job)
	for {
		if r := e.runs.claim(key); r != nil {
			answer, err := r.registerAgain(order)
			if errors.Is(err, errPurged) {
				continue
			}
			return answer, err
		}
		defer e.runs.unclaim(key)
		return e.registerNew(order)
	}
}

// errPurged reports that a job was purged after it was looked up.
var errPurged = errors.New("the job was purged")

// registerNew registers a job that the engine does not know.
func (e *Engine) registerNew(order Registration) (answer Registered, err error) {
	job := order.Job
	e.mu.Lock()
	begun := e.submitted
	e.mu.Unlock()
	if !e.cfg.Resident || !begun {
		return answer, fmt.Errorf("job not found: %q", *job.ID)
	}
	if order.Admit != nil {
		if err := order.Admit(nil); err != nil {
			return answer, err
		}
	}
	answer.Plan = update.New(nil, job, nil, nil)
	r, err := open(e, job, order.Submission)
	if err != nil {
		return answer, fmt.Errorf("cannot run job %q: %w", *job.ID, err)
	}
	e.state.Look(func(run *fold.Run) { run.Specify(r.key, job) })
	r.priority = order.EvalPriority
	e.runs.add(r)
	if !r.enter(r.begin) {
		r.mu.Lock()
		e.runs.purge(r)
		r.mu.Unlock()
		e.runs.erase(r)
		e.runs.finding.Done()
		return answer, errors.Join(fmt.Errorf("cannot run job %q: the engine is stopping", *job.ID), r.remove())
	}
	r.lock()
	defer r.mu.Unlock()
	plan := answer.Plan
	answer = r.introduced // the job may have been purged since then
	answer.Plan = plan
	return answer, nil
}

// registerAgain registers a version of a job that has a run.
func (r *jobRun) registerAgain(order Registration) (answer Registered, err error) {
	r.lock()
	defer r.mu.Unlock()
	if r.purged.Load() {
		return answer, errPurged
	}
	if order.Admit != nil {
		if err := order.Admit(r.newest.Load()); err != nil {
			return answer, err
		}
	}
	if answer.Plan, err = r.update(order.Job, registration{
		trigger: event.JobRegister, priority: order.EvalPriority, submission: order.Submission, quiet: order.Quiet,
	}); err != nil {
		return answer, err
	}
	if answer.Plan.Diff.Type == "None" && r.host.cfg.Resident {
		var c store.Change
		answer.Evaluation = r.evaluateWith(event.Evaluation{Trigger: event.JobRegister, Priority: order.EvalPriority}, &c)
		r.recorder.Commit(c)
	}
	r.told(&answer)
	return answer, nil
}

// Deregister stops a job of a resident engine: the stopped job is a new version
// of it. It does not wait. A job that is stopped already only gets an
// evaluation.
func (j JobHandle) Deregister(order Deregistration) (answer Registered, err error) {
	r, err := j.engine.runs.find(j.key)
	if err != nil {
		return answer, err
	}
	r.lock()
	defer r.mu.Unlock()
	switch {
	case r.purged.Load():
		return answer, fmt.Errorf("job not found: %q", j.key)
	case r.isEnding():
		return answer, fmt.Errorf("cannot stop job %q: the engine is stopping", *r.job.ID)
	}
	var c store.Change
	if now := r.newest.Load(); isStopped(now) {
		answer.Evaluation = r.evaluateWith(event.Evaluation{Trigger: event.JobDeregister, Priority: order.EvalPriority}, &c)
	} else {
		stopped := *now
		stopped.Stop = new(true)
		answer.Evaluation = r.register(&stopped, registration{
			trigger: event.JobDeregister, derived: true, priority: order.EvalPriority, submission: r.submission(*now.Version),
		}, &c)
	}
	if order.NoShutdownDelay {
		r.slots.skipShutdownDelays(&c)
	}
	if order.Purge {
		r.purge(&c)
	}
	r.act(&c)
	r.told(&answer)
	if order.Purge {
		r.vanish()
	}
	return answer, nil
}

// Plan returns what Register would do at once with a job, which must be
// canonicalized. All allocations of a job that is not running would be placed. Plan
// changes nothing, and returns the same errors as Register.
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
	had := r.ports.Static()
	plan, err := r.plan(job)
	r.ports.ReleaseStatic(had)
	return plan, err
}
