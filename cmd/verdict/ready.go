package verdict

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// Ready decides when a run in the background or in a cluster is ready: deployments
// are successful and, in jobs without one, every task has run for a while or ended
// well. It leaves the run then, or when the run can no longer become ready.
type Ready struct {
	Verdict            // of the run as a whole
	parts   []*Verdict // of the jobs with a deployment, and of the others
}

// NewReady returns the verdict on the readiness of jobs after the events of their
// past, which cause no decision. Since is that of the policy.
func NewReady(jobs []*api.Job, u Until, since time.Time, past ...event.Event) *Ready {
	r := &Ready{Verdict: *New(Policy{Outlives: true}, jobs, past...)}
	var healthy, running []*api.Job
	for _, j := range jobs {
		switch {
		case j.IsPeriodic() || j.IsParameterized(): // the jobs that they launch come later
		case health.NewDeployment(j, time.Time{}) != nil && health.ByHand(j) == "" && u.Running == 0:
			healthy = append(healthy, j)
		default:
			running = append(running, j)
		}
	}
	u.Running = cmp.Or(u.Running, untilRunning)
	if len(healthy) > 0 {
		r.parts = append(r.parts, New(Policy{Healthy: true, Since: since}, healthy))
	}
	if len(running) > 0 {
		r.parts = append(r.parts, New(Policy{Until: u.Running, Since: since}, running))
	}
	for _, v := range r.parts {
		for _, e := range past {
			if v.concerns(e) {
				v.Run.Apply(e)
			}
		}
	}
	return r
}

// Observe handles an event.
func (r *Ready) Observe(e event.Event) Decision {
	for _, v := range r.parts {
		if v.concerns(e) {
			v.Observe(e)
		}
	}
	return r.decide()
}

// Due returns when the tasks of jobs without a deployment will have run long enough.
func (r *Ready) Due() (at time.Time, ok bool) {
	for _, v := range r.parts {
		if at, ok := v.Due(); ok {
			return at, ok
		}
	}
	return time.Time{}, false
}

// Tick handles that time has passed.
func (r *Ready) Tick(now time.Time) Decision {
	for _, v := range r.parts {
		v.Tick(now)
	}
	return r.decide()
}

func (r *Ready) decide() Decision {
	if _, decided := r.Decided(); decided {
		return Decision{Action: Leave}
	}
	return Decision{}
}

// Decided reports whether the run is ready or, with an error that says why, never
// will be.
func (r *Ready) Decided() (failure error, decided bool) {
	decided = true
	for _, v := range r.parts {
		switch {
		case !v.Stopping():
			decided = false
		case v.Cause.Code != OK:
			return errors.New(v.Cause.Text), true
		}
	}
	return nil, decided
}

// Failed reports whether a job has failed, after the end of the run.
func (r *Ready) Failed() bool { return slices.ContainsFunc(r.parts, (*Verdict).Failed) }

func (v *Verdict) concerns(e event.Event) bool {
	return slices.ContainsFunc(v.Run.Jobs, func(j *api.Job) bool {
		d, ok := e.Body.(event.Deployment)
		return ok && d.Job == *j.ID || e.Alloc != nil && e.Alloc.Of(*j.ID)
	})
}
