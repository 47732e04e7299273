package health

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// The statuses of a deployment, as in Nomad.
const (
	DeploymentRunning    = "running"
	DeploymentSuccessful = "successful"
	DeploymentFailed     = "failed"
	DeploymentCancelled  = "cancelled"
)

// Deployment follows the groups of a job until all their allocations are
// healthy, or one group has failed to get there. It is a value for one
// goroutine; time is an argument.
type Deployment struct {
	Status      string
	Description string
	groups      map[string]*deploymentGroup
}

type deploymentGroup struct {
	desired, healthy int
	progress         time.Duration // 0: the first unhealthy allocation fails it
	deadline         time.Time
}

// NewDeployment returns the deployment of a canonicalised job's first version;
// nil when no group of the job takes part in one.
func NewDeployment(job *api.Job, now time.Time) *Deployment {
	d := &Deployment{Status: DeploymentRunning, Description: "Deployment is running", groups: map[string]*deploymentGroup{}}
	for _, g := range job.TaskGroups {
		if _, ok := PolicyOf(*job.Type, g); !ok || *g.Count == 0 {
			continue
		}
		progress := *g.Update.ProgressDeadline
		d.groups[*g.Name] = &deploymentGroup{desired: *g.Count, progress: progress, deadline: now.Add(progress)}
	}
	if len(d.groups) == 0 {
		return nil
	}
	return d
}

// Report takes in the verdict on an allocation of a group. Replaced tells that
// another one will run in its place.
func (d *Deployment) Report(group string, v Verdict, replaced bool, now time.Time) {
	g := d.groups[group]
	if d.Status != DeploymentRunning || g == nil {
		return
	}
	switch v {
	case Healthy:
		g.healthy++
		g.deadline = now.Add(g.progress)
		if d.complete() {
			d.Status, d.Description = DeploymentSuccessful, "Deployment completed successfully"
		}
	case Unhealthy:
		if g.progress == 0 || !replaced {
			d.Status, d.Description = DeploymentFailed, "Failed due to unhealthy allocations"
		}
	case Unknown:
	}
}

// Tick fails the deployment when a group made no progress for too long, and
// returns when to look again; zero: no more.
func (d *Deployment) Tick(now time.Time) (again time.Time) {
	if d.Status != DeploymentRunning {
		return time.Time{}
	}
	for _, g := range d.groups {
		if g.progress == 0 || g.healthy >= g.desired {
			continue
		}
		if !now.Before(g.deadline) {
			d.Status, d.Description = DeploymentFailed, "Failed due to progress deadline"
			return time.Time{}
		}
		if again.IsZero() || g.deadline.Before(again) {
			again = g.deadline
		}
	}
	return again
}

// Cancel ends the deployment because its job is stopped.
func (d *Deployment) Cancel() {
	if d.Status == DeploymentRunning {
		d.Status, d.Description = DeploymentCancelled, "Cancelled because job is stopped"
	}
}

func (d *Deployment) complete() bool {
	for _, g := range d.groups {
		if g.healthy < g.desired {
			return false
		}
	}
	return true
}
