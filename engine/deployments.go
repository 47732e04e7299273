package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// errNoDeployment is Nomad's word for an ID that nothing has.
var errNoDeployment = errors.New("deployment not found")

// Deployments returns the deployments of a job that are known, oldest first;
// none for a job that is not known.
func (e *Engine) Deployments(job string) []Deployment {
	list, _ := withJob(e, job, func(r *jobRun) (list []Deployment, _ error) {
		for _, d := range r.deployments {
			list = append(list, r.snapshot(d))
		}
		return list, nil
	})
	return list
}

// snapshot is called with the lock held.
func (r *jobRun) snapshot(d *deploymentRecord) Deployment {
	shown := Deployment{
		ID: d.ID, Job: *r.job.ID, Version: d.Version, Began: d.Began, Status: d.Status, Description: d.Description,
		Groups: map[string]DeploymentGroup{},
	}
	for name, g := range d.Groups {
		group := DeploymentGroup{DeploymentGroup: *g}
		group.Healthy, group.Unhealthy = slices.Clone(g.Healthy), slices.Clone(g.Unhealthy)
		for _, s := range r.slots {
			for _, p := range s.Placed {
				if s.group == name && p.Version == d.Version && p.WasCanary {
					group.PlacedCanaries = append(group.PlacedCanaries, p.ID)
				}
			}
		}
		shown.Groups[name] = group
	}
	return shown
}

// changeDeployment does something with a deployment, and what follows from
// that.
func (l *jobRuns) changeDeployment(id string, change func(r *jobRun, d *deploymentRecord) error) error {
	for _, r := range l.all() {
		if done, err := r.changeDeployment(id, change); done {
			return err
		}
	}
	return errNoDeployment
}

func (r *jobRun) changeDeployment(id string, change func(*jobRun, *deploymentRecord) error) (done bool, err error) {
	r.lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.deployments, func(d *deploymentRecord) bool { return d.ID == id })
	if i < 0 {
		return false, nil
	}
	d := r.deployments[i]
	if err := change(r, d); err != nil {
		return true, err
	}
	d.unsaved, r.changed = true, true
	var c store.Change
	r.evaluate(event.DeploymentWatcher, "", &c)
	r.advance(&c)
	r.look()
	return true, nil
}

// Promote takes the canaries of some groups of a deployment, or of all with
// none named, for good. The errors are Nomad's.
func (e *Engine) Promote(deployment string, groups []string) error {
	return e.runs.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error {
		return d.Promote(groups, time.Now())
	})
}

// Pause has a deployment place nothing more, or go on.
func (e *Engine) Pause(deployment string, pause bool) error {
	return e.runs.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error { return d.Pause(pause, time.Now()) })
}

// Fail ends a deployment as one that has failed.
func (e *Engine) Fail(deployment string) error {
	return e.runs.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error { return d.Fail() })
}

// SetHealth tells a deployment that allocations are healthy, and others not, by
// their IDs: all or none.
func (e *Engine) SetHealth(deployment string, healthy, unhealthy []string) error {
	verdicts := map[string]health.Verdict{}
	for _, id := range healthy {
		verdicts[id] = health.Healthy
	}
	for _, id := range unhealthy {
		verdicts[id] = health.Unhealthy
	}
	told := map[string]*runner.Alloc{}
	err := e.runs.changeDeployment(deployment, func(r *jobRun, d *deploymentRecord) error {
		if err := d.CheckSetHealth(); err != nil {
			return err
		}
		for _, s := range r.slots {
			if s.present != nil && s.last().Version == d.Version {
				told[s.last().ID] = s.present
			}
		}
		for _, id := range slices.Sorted(maps.Keys(verdicts)) {
			if told[id] == nil {
				return fmt.Errorf("unknown alloc %q", id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, v := range verdicts {
		told[id].SetHealth(v)
	}
	return nil
}
