package health

import (
	"slices"
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
//
// It can be stored as JSON.
type Deployment struct {
	Status      string
	Description string
	Groups      map[string]*DeploymentGroup
}

// DeploymentGroup is a group that takes part in a deployment.
type DeploymentGroup struct {
	Desired  int
	Healthy  []string      // IDs of allocations
	Progress time.Duration // 0: the first unhealthy allocation fails it
	Deadline time.Time
}

// NewDeployment returns the deployment of a canonicalised job's first version;
// nil when no group of the job takes part in one.
func NewDeployment(job *api.Job, now time.Time) *Deployment {
	d := &Deployment{Status: DeploymentRunning, Description: "Deployment is running", Groups: map[string]*DeploymentGroup{}}
	for _, g := range job.TaskGroups {
		if _, ok := PolicyOf(*job.Type, g); !ok || *g.Count == 0 {
			continue
		}
		progress := *g.Update.ProgressDeadline
		d.Groups[*g.Name] = &DeploymentGroup{Desired: *g.Count, Progress: progress, Deadline: now.Add(progress)}
	}
	if len(d.Groups) == 0 {
		return nil
	}
	return d
}

// Report takes in the verdict on an allocation of a group, perhaps once more.
// Replaced tells that another one will run in its place.
func (d *Deployment) Report(group, alloc string, v Verdict, replaced bool, now time.Time) {
	g := d.Groups[group]
	if d.Status != DeploymentRunning || g == nil {
		return
	}
	switch v {
	case Healthy:
		if slices.Contains(g.Healthy, alloc) {
			return
		}
		g.Healthy = append(g.Healthy, alloc)
		g.Deadline = now.Add(g.Progress)
		if d.complete() {
			d.Status, d.Description = DeploymentSuccessful, "Deployment completed successfully"
		}
	case Unhealthy:
		if g.Progress == 0 || !replaced {
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
	for _, g := range d.Groups {
		if g.Progress == 0 || len(g.Healthy) >= g.Desired {
			continue
		}
		if !now.Before(g.Deadline) {
			d.Status, d.Description = DeploymentFailed, "Failed due to progress deadline"
			return time.Time{}
		}
		if again.IsZero() || g.Deadline.Before(again) {
			again = g.Deadline
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
	for _, g := range d.Groups {
		if len(g.Healthy) < g.Desired {
			return false
		}
	}
	return true
}
