package health

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Errors of orders for a deployment that has ended, in Nomad's words.
var (
	errNoPromote   = errors.New("can't promote terminal deployment")
	errNoPause     = errors.New("can't pause terminal deployment")
	errNoResume    = errors.New("can't resume terminal deployment")
	errNoFail      = errors.New("can't fail terminal deployment")
	errNoSetHealth = errors.New("can't set health of allocations for a terminal deployment")
)

// Promote promotes the canaries of the given groups, or of all groups if none
// is given: the rollout continues with their version.
func (d *Deployment) Promote(groups []string, now time.Time) error {
	if !d.Active() {
		return errNoPromote
	}
	var promoted []*DeploymentGroup
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(d.Groups)) {
		g := d.Groups[name]
		if !g.Canarying() || len(groups) > 0 && !slices.Contains(groups, name) {
			continue
		}
		if len(g.Healthy) < g.Canaries {
			faults = append(faults, fmt.Errorf("Task group %q has %d/%d healthy allocations", name, len(g.Healthy), g.Canaries))
		}
		promoted = append(promoted, g)
	}
	switch {
	case len(faults) > 0:
		return errors.Join(faults...)
	case len(promoted) == 0:
		return errors.New("no canaries to promote")
	}
	for _, g := range promoted {
		g.Promoted, g.Deadline = true, now.Add(g.Progress)
	}
	if d.Status == DeploymentRunning {
		d.describe()
	}
	d.finish()
	return nil
}

// promoteItself promotes the canaries if all are healthy and every group has
// auto_promote.
func (d *Deployment) promoteItself(now time.Time) {
	canarying := false
	for _, g := range d.Groups {
		if !g.Canarying() {
			continue
		}
		if !g.AutoPromote || len(g.Healthy) < g.Canaries {
			return
		}
		canarying = true
	}
	if canarying && d.Status == DeploymentRunning {
		_ = d.Promote(nil, now) // the canaries are healthy
	}
}

// Pause pauses or resumes the deployment. A pause stops placements and restarts
// the deadlines.
func (d *Deployment) Pause(pause bool, now time.Time) error {
	switch {
	case !d.Active() && pause:
		return errNoPause
	case !d.Active():
		return errNoResume
	case pause:
		d.Status, d.Description = DeploymentPaused, "Deployment is paused"
		return nil
	case d.Status == DeploymentPaused:
		d.Status = DeploymentRunning
		for _, g := range d.Groups {
			g.Deadline = now.Add(g.Progress)
		}
		d.describe()
		d.promoteItself(now)
		d.finish()
	}
	return nil
}

// Fail marks the deployment as failed because a user wants it.
func (d *Deployment) Fail() error {
	if !d.Active() {
		return errNoFail
	}
	revert := false
	for _, g := range d.Groups {
		revert = revert || g.AutoRevert
	}
	d.fail("Deployment marked as failed", revert)
	return nil
}

// CheckSetHealth returns an error if the deployment has ended, and its health
// cannot be set any more.
func (d *Deployment) CheckSetHealth() error {
	if !d.Active() {
		return errNoSetHealth
	}
	return nil
}

// SetCanaries makes the deployment start with n canaries of a group.
func (d *Deployment) SetCanaries(group string, n int) {
	if g := d.Groups[group]; g != nil {
		g.Canaries = n
		d.describe()
	}
}
