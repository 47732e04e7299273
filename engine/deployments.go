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

// Deployments returns the known deployments of the job, oldest first.
func (j JobHandle) Deployments() []Deployment {
	list, _ := withJob(j.engine, j.key, func(r *jobRun) (list []Deployment, _ error) {
		for _, d := range r.deployments {
			list = append(list, d.snapshot(r.key, r.slots))
		}
		return list, nil
	})
	return list
}

// Deploying reports whether a deployment of the job has not ended.
func (j JobHandle) Deploying() bool {
	active, _ := withJob(j.engine, j.key, func(r *jobRun) (bool, error) {
		d := r.deployment()
		return d != nil && d.Active(), nil
	})
	return active
}

// snapshot returns a copy of the deployment of a job. The caller must hold the lock.
func (d *deploymentRecord) snapshot(job string, slots slots) Deployment {
	shown := Deployment{
		ID: d.ID, Job: job, Version: d.Version, Began: d.Began, Status: d.Status, Description: d.Description,
		Groups: map[string]DeploymentGroup{},
	}
	for name, g := range d.Groups {
		group := DeploymentGroup{DeploymentGroup: *g}
		group.Healthy, group.Unhealthy = slices.Clone(g.Healthy), slices.Clone(g.Unhealthy)
		for _, s := range slots {
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

// DeploymentHandle gives orders to a deployment. The errors are Nomad's.
type DeploymentHandle struct {
	engine *Engine
	id     string
}

// Deployment returns a handle on the deployment with an ID.
func (e *Engine) Deployment(id string) DeploymentHandle { return DeploymentHandle{e, id} }

// change changes the deployment and acts on the consequences.
func (d DeploymentHandle) change(change func(r *jobRun, d *deploymentRecord) error) error {
	r, err := d.engine.runs.find(d.job())
	if err != nil {
		return errNoDeployment
	}
	r.lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.deployments, func(known *deploymentRecord) bool { return known.ID == d.id })
	if i < 0 {
		return errNoDeployment
	}
	if err := change(r, r.deployments[i]); err != nil {
		return err
	}
	r.deployments[i].unsaved, r.changed = true, true
	var c store.Change
	r.evaluate(event.DeploymentWatcher, "", &c)
	r.act(&c)
	r.look()
	return nil
}

// job returns the key of the job that has the deployment, or "".
func (d DeploymentHandle) job() (key string) {
	d.engine.state.Look(func(run *fold.Run) {
		for _, known := range slices.Backward(run.Deployments) {
			if known.ID == d.id {
				key = known.Job
				return
			}
		}
	})
	if key != "" {
		return key
	}
	for _, r := range d.engine.runs.all() { // it may be so new that no event tells of it
		if slices.ContainsFunc(d.engine.Handle(r.key).Deployments(), func(known Deployment) bool { return known.ID == d.id }) {
			return r.key
		}
	}
	return ""
}

// Promote promotes the canaries of the given groups, or of all groups if none is
// given.
func (d DeploymentHandle) Promote(groups []string) error {
	return d.change(func(_ *jobRun, d *deploymentRecord) error { return d.Promote(groups, time.Now()) })
}

// Pause pauses the deployment, which then places nothing more, or resumes it.
func (d DeploymentHandle) Pause(pause bool) error {
	return d.change(func(_ *jobRun, d *deploymentRecord) error { return d.Pause(pause, time.Now()) })
}

// Fail marks the deployment as failed, which ends it.
func (d DeploymentHandle) Fail() error {
	return d.change(func(_ *jobRun, d *deploymentRecord) error { return d.Fail() })
}

// SetHealth marks allocations of the deployment as healthy or unhealthy, by ID.
// If any ID is refused, it changes nothing.
func (d DeploymentHandle) SetHealth(healthy, unhealthy []string) error {
	verdicts := map[string]health.Verdict{}
	for _, id := range healthy {
		verdicts[id] = health.Healthy
	}
	for _, id := range unhealthy {
		verdicts[id] = health.Unhealthy
	}
	told := map[string]*runner.Alloc{}
	err := d.change(func(r *jobRun, d *deploymentRecord) error {
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
