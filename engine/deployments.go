package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// errNoDeployment is Nomad's error for an unknown deployment ID.
var errNoDeployment = errors.New("deployment not found")

// Deployments returns the known deployments of a job, oldest first. An unknown
// job has none.
func (e *Engine) Deployments(job string) []Deployment {
	list, _ := withJob(e, job, func(r *jobRun) (list []Deployment, _ error) {
		for _, d := range r.deployments {
			list = append(list, r.snapshot(d))
		}
		return list, nil
	})
	return list
}

// snapshot returns a copy of a deployment. The caller must hold the lock.
func (r *jobRun) snapshot(d *deploymentRecord) Deployment {
	shown := Deployment{
		ID: d.ID, Job: r.key, Version: d.Version, Began: d.Began, Status: d.Status, Description: d.Description,
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

// changeDeployment changes a deployment and acts on the consequences.
func (e *Engine) changeDeployment(id string, change func(r *jobRun, d *deploymentRecord) error) error {
	job := e.jobOf(id)
	r, err := e.runs.find(job)
	if err != nil {
		return errNoDeployment
	}
	r.lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.deployments, func(d *deploymentRecord) bool { return d.ID == id })
	if i < 0 {
		return errNoDeployment
	}
	d := r.deployments[i]
	if err := change(r, d); err != nil {
		return err
	}
	d.unsaved, r.changed = true, true
	var c store.Change
	r.evaluate(event.DeploymentWatcher, "", &c)
	r.act(&c)
	r.look()
	return nil
}

// jobOf returns the key of the job that has a deployment, or "".
func (e *Engine) jobOf(deployment string) (job string) {
	e.state.Look(func(run *fold.Run) {
		for _, d := range slices.Backward(run.Deployments) {
			if d.ID == deployment {
				job = d.Job
				return
			}
		}
	})
	if job != "" {
		return job
	}
	for _, r := range e.runs.all() { // it may be so new that no event tells of it
		if slices.ContainsFunc(e.Deployments(r.key), func(d Deployment) bool { return d.ID == deployment }) {
			return r.key
		}
	}
	return ""
}

// Promote promotes the canaries of the given groups of a deployment, or of all
// groups if none is given. The errors are Nomad's.
func (e *Engine) Promote(deployment string, groups []string) error {
	return e.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error {
		return d.Promote(groups, time.Now())
	})
}

// Pause pauses a deployment, which then places nothing more, or resumes it.
func (e *Engine) Pause(deployment string, pause bool) error {
	return e.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error { return d.Pause(pause, time.Now()) })
}

// Fail marks a deployment as failed, which ends it.
func (e *Engine) Fail(deployment string) error {
	return e.changeDeployment(deployment, func(_ *jobRun, d *deploymentRecord) error { return d.Fail() })
}

// SetHealth marks allocations of a deployment as healthy or unhealthy, by ID.
// If any ID is refused, it changes nothing.
func (e *Engine) SetHealth(deployment string, healthy, unhealthy []string) error {
	verdicts := map[string]health.Verdict{}
	for _, id := range healthy {
		verdicts[id] = health.Healthy
	}
	for _, id := range unhealthy {
		verdicts[id] = health.Unhealthy
	}
	told := map[string]*runner.Alloc{}
	err := e.changeDeployment(deployment, func(r *jobRun, d *deploymentRecord) error {
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
