package health

import "time"

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

// CheckSetHealth returns an error if the deployment has ended, because its health
// can no longer be set.
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
