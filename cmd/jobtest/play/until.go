package play

import (
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/hooks/services/check"
)

// healthyTime is how long tasks of a job without a deployment must run to be
// healthy, as with taskrun up --detach --wait.
const healthyTime = 10 * time.Second

// goal says whether a run has reached its goal.
type goal struct {
	reached bool
	failed  bool      // it never will
	why     string    // of both
	due     time.Time // when it has, if nothing else happens; zero: it is not known
}

// allRun is whether every task that should run has run for a time, since a job was
// changed.
func allRun(run *fold.Run, d time.Duration, since, now time.Time) goal {
	if a := failed(run, since); a != nil {
		return goal{failed: true, why: a.Name + " failed"}
	}
	v := verdict.Verdict{Policy: verdict.Policy{Until: d, Since: since}, Run: run}
	at, ok := v.Due()
	switch {
	case !ok:
		return goal{}
	case at.After(now):
		return goal{due: at}
	case d > 1:
		return goal{reached: true, why: fmt.Sprintf("every task has run for %v", d)}
	}
	return goal{reached: true, why: "every task runs"}
}

// healthy is whether the deployment of the newest version of a job is successful, or
// its tasks have run for a while if it has none.
func healthy(run *fold.Run, job *api.Job, since, now time.Time) goal {
	if launches(job) || health.NewDeployment(job, now) == nil {
		return allRun(run, healthyTime, since, now)
	}
	d := run.Deployment(*job.ID)
	if a := failed(run, since); a != nil {
		return goal{failed: true, why: a.Name + " failed"}
	}
	if d == nil || d.Version != *job.Version {
		return goal{}
	}
	switch d.Status {
	case health.DeploymentSuccessful:
		if waiting(run) { // after a restart
			return goal{}
		}
		return goal{reached: true, why: "every allocation is healthy"}
	case health.DeploymentFailed:
		return goal{failed: true, why: fmt.Sprintf("the deployment of job %q has failed: %s", d.Job, d.Description)}
	}
	return goal{}
}

// waiting reports whether a task or a check of an allocation has yet to begin.
func waiting(run *fold.Run) bool {
	return slices.ContainsFunc(run.Final(), func(a *fold.Alloc) bool {
		return a.Status == api.AllocClientStatusPending || slices.ContainsFunc(a.Checks, func(c event.Check) bool { return c.Status == check.Pending })
	})
}

// failed returns an allocation that has failed since a time; nil for none.
func failed(run *fold.Run, since time.Time) *fold.Alloc {
	for _, a := range run.Allocs {
		if a.Status == api.AllocClientStatusFailed && a.Failure != nil && !a.Failure.Time.Before(since) {
			return a
		}
	}
	return nil
}

// launches reports whether a job only launches others.
func launches(j *api.Job) bool { return j.IsPeriodic() || j.IsParameterized() }
