package health

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Statuses of a deployment, as in Nomad.
const (
	DeploymentRunning    = "running"
	DeploymentPaused     = "paused"
	DeploymentSuccessful = "successful"
	DeploymentFailed     = "failed"
	DeploymentCancelled  = "cancelled"
)

// Deployment follows the groups of a version of a job until all their
// allocations are healthy, or one group has failed. It is not safe for
// concurrent use, and time is an argument.
//
// It can be stored as JSON.
type Deployment struct {
	Version     uint64 // of the job
	Status      string
	Description string
	Groups      map[string]*DeploymentGroup
	// Revert is true if a group has failed that reverts to a stable version.
	Revert bool `json:",omitempty"`
}

// Errors of orders for a deployment that has ended, in Nomad's words.
var (
	errNoPromote   = errors.New("can't promote terminal deployment")
	errNoPause     = errors.New("can't pause terminal deployment")
	errNoResume    = errors.New("can't resume terminal deployment")
	errNoFail      = errors.New("can't fail terminal deployment")
	errNoSetHealth = errors.New("can't set health of allocations for a terminal deployment")
)

// DeploymentGroup is a group that takes part in a deployment.
type DeploymentGroup struct {
	Desired   int
	Placed    int           `json:",omitempty"` // allocations placed, including replacements
	Healthy   []string      // IDs of allocations
	Unhealthy []string      `json:",omitempty"`
	Progress  time.Duration // 0: the first unhealthy allocation fails the group
	Deadline  time.Time     // for the next allocation to become healthy

	Canaries    int  `json:",omitempty"` // they must become healthy before anything else happens
	Promoted    bool `json:",omitempty"` // the canaries were promoted
	AutoPromote bool `json:",omitempty"`
	AutoRevert  bool `json:",omitempty"`
}

// Deploys reports whether a canonicalized group takes part in deployments: its
// job does not end by itself, and it has an update block.
func Deploys(jobType string, g *api.TaskGroup) bool {
	return (jobType == api.JobTypeService || jobType == api.JobTypeSystem) && g.Update != nil && *g.Update.MaxParallel > 0
}

// ByHand returns the first group of a canonicalized job that takes part in
// deployments and leaves its health to the user, or "".
func ByHand(job *api.Job) string {
	for _, g := range job.TaskGroups {
		if Deploys(*job.Type, g) && *g.Update.HealthCheck == "manual" {
			return *g.Name
		}
	}
	return ""
}

// NewDeployment returns the deployment of a canonicalized job, without
// canaries, or nil if no group takes part in deployments.
func NewDeployment(job *api.Job, now time.Time) *Deployment {
	d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{}}
	if job.Version != nil {
		d.Version = *job.Version
	}
	for _, g := range job.TaskGroups {
		if !Deploys(*job.Type, g) || *g.Count == 0 {
			continue
		}
		progress := *g.Update.ProgressDeadline
		d.Groups[*g.Name] = &DeploymentGroup{
			Desired: *g.Count, Progress: progress, Deadline: now.Add(progress),
			AutoPromote: *g.Update.AutoPromote, AutoRevert: *g.Update.AutoRevert,
		}
	}
	if len(d.Groups) == 0 {
		return nil
	}
	d.describe()
	return d
}

// Active reports whether the deployment is in progress.
func (d *Deployment) Active() bool {
	return d.Status == DeploymentRunning || d.Status == DeploymentPaused
}

// Canarying reports whether the group waits for its canaries to become healthy
// or to be promoted.
func (g *DeploymentGroup) Canarying() bool { return g.Canaries > 0 && !g.Promoted }

// Canarying reports whether an active deployment waits for canaries to become
// healthy or to be promoted.
func (d *Deployment) Canarying() bool {
	for _, g := range d.Groups {
		if d.Status == DeploymentRunning && g.Canarying() {
			return true
		}
	}
	return false
}

// describe sets the description of an active deployment.
func (d *Deployment) describe() {
	waiting, byItself := false, true
	for _, g := range d.Groups {
		if g.Canarying() {
			waiting, byItself = true, byItself && g.AutoPromote
		}
	}
	switch {
	case !waiting:
		d.Description = "Deployment is running"
	case byItself:
		d.Description = "Deployment is running pending automatic promotion"
	default:
		d.Description = "Deployment is running but requires manual promotion"
	}
}

// Report records the verdict on an allocation of a group, which may be a
// repeated one. Replaced says that the allocation will be replaced. A deployment
// that has ended, as in Nomad, only counts it.
func (d *Deployment) Report(group, alloc string, v Verdict, replaced bool, now time.Time) {
	g := d.Groups[group]
	if g == nil || v == Healthy && slices.Contains(g.Healthy, alloc) {
		return
	}
	g.count(alloc, v)
	if !d.Active() {
		return
	}
	switch v {
	case Healthy:
		g.Deadline = now.Add(g.Progress)
		d.promoteItself(now)
		d.finish()
	case Unhealthy:
		if g.Progress == 0 || !replaced {
			d.fail("Failed due to unhealthy allocations", g.AutoRevert)
		}
	case Unknown:
	}
}

func (g *DeploymentGroup) count(alloc string, v Verdict) {
	if v == Unknown {
		return
	}
	g.Healthy, g.Unhealthy = without(g.Healthy, alloc), without(g.Unhealthy, alloc)
	if v == Healthy {
		g.Healthy = append(g.Healthy, alloc)
	} else {
		g.Unhealthy = append(g.Unhealthy, alloc)
	}
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(list, func(other string) bool { return other == s })
}

// Tick fails the deployment if a group made no progress for too long. It then
// reverts, as in Nomad, if any group that still waits has auto_revert. Tick
// returns when to call it again, or zero.
func (d *Deployment) Tick(now time.Time) (again time.Time) {
	if d.Status != DeploymentRunning {
		return time.Time{}
	}
	late, revert := false, false
	for _, g := range d.Groups {
		if len(g.Healthy) >= g.awaited() {
			continue
		}
		revert = revert || g.AutoRevert
		switch {
		case g.Progress == 0:
		case !now.Before(g.Deadline):
			late = true
		case again.IsZero() || g.Deadline.Before(again):
			again = g.Deadline
		}
	}
	if late {
		d.fail("Failed due to progress deadline", revert)
		return time.Time{}
	}
	return again
}

// awaited returns how many allocations still have to become healthy by
// themselves.
func (g *DeploymentGroup) awaited() int {
	if g.Canarying() {
		return g.Canaries
	}
	return g.Desired
}

func (d *Deployment) fail(why string, revert bool) {
	d.Status, d.Description, d.Revert = DeploymentFailed, why, revert
}

// Cancel ends the deployment because its job is stopped.
func (d *Deployment) Cancel() { d.cancel("Cancelled because job is stopped") }

// Supersede ends the deployment because the job has a newer version.
func (d *Deployment) Supersede() { d.cancel("Cancelled due to newer version of job") }

func (d *Deployment) cancel(why string) {
	if d.Active() {
		d.Status, d.Description = DeploymentCancelled, why
	}
}

// finish ends the deployment if all its groups are done.
func (d *Deployment) finish() {
	for _, g := range d.Groups {
		if len(g.Healthy) < g.Desired || g.Canarying() {
			return
		}
	}
	if d.Status == DeploymentRunning {
		d.Status, d.Description = DeploymentSuccessful, "Deployment completed successfully"
	}
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

// Promote promotes the canaries of the given groups, or of all groups if none
// is given: the rollout continues with their version. As in Nomad a group
// without canaries counts as promoted, too, and an unknown one is ignored.
func (d *Deployment) Promote(groups []string, now time.Time) error {
	if !d.Active() {
		return errNoPromote
	}
	var promoted []*DeploymentGroup
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(d.Groups)) {
		if len(groups) > 0 && !slices.Contains(groups, name) {
			continue
		}
		g := d.Groups[name]
		if len(g.Healthy) < g.Canaries {
			faults = append(faults, fmt.Errorf("Task group %q has %d/%d healthy allocations", name, len(g.Healthy), g.Canaries))
		}
		promoted = append(promoted, g)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
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
