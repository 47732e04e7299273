package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/grant"
	"taskrun/engine/update"
)

// plan returns the effect of a new version, or why it cannot be the next one.
// It claims the static ports of the version. The caller must hold the lock.
func (r *jobRun) plan(job *api.Job) (*update.Plan, error) {
	if err := checkKind(r.newest.Load(), job); err != nil {
		return nil, err
	}
	if err := r.host.checkSize(job, r.newest.Load()); err != nil {
		return nil, err
	}
	places, _ := r.slots.places()
	plan := update.New(r.newest.Load(), job, r.version, places)
	if plan.Diff.Type == "None" {
		return plan, nil
	}
	if err := r.admit(job); err != nil {
		return nil, err
	}
	return plan, nil
}

// checkKind refuses, in Nomad's words, a version that would change the kind of
// the job.
func checkKind(before, job *api.Job) error {
	switch {
	case *before.Type != *job.Type:
		return fmt.Errorf("cannot update job from type %q to %q", *before.Type, *job.Type)
	case job.IsPeriodic() && !before.IsPeriodic():
		return fmt.Errorf("cannot update non-periodic job to being periodic")
	case !job.IsPeriodic() && before.IsPeriodic():
		return fmt.Errorf("cannot update periodic job to being non-periodic")
	case job.IsParameterized() && !before.IsParameterized():
		return fmt.Errorf("cannot update non-parameterized job to being parameterized")
	case !job.IsParameterized() && before.IsParameterized():
		return fmt.Errorf("cannot update parameterized job to being non-parameterized")
	}
	return nil
}

// admit checks whether a version can run, and claims the ports that it needs.
// The caller must hold the lock.
func (r *jobRun) admit(job *api.Job) error {
	if err := r.host.watch.follow(job); err != nil {
		return err
	}
	if launches(job) || !r.ports.Reserved {
		return nil
	}
	places, _ := r.slots.places()
	next := *job
	next.Version = new(*r.newest.Load().Version + 1)
	if d := update.Begin(&next, r.version, places, false, time.Now()); d != nil {
		for p := range grant.StaticPorts(job) {
			if g := d.Groups[*p.Group.Name]; g != nil && g.Canaries > 0 {
				return fmt.Errorf("group %q: a canary cannot have static port %d beside the allocation that it may replace: leave out canary, or the port's number", *p.Group.Name, p.Value)
			}
		}
	}
	return r.ports.Reserve(job)
}
