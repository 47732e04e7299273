package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Rollout follows the deployment of a change to a job and, if it fails and is rolled
// back, the next deployment. It publishes no other events of the job.
type Rollout struct {
	Job        *client.Job
	Evaluation string // of the one that creates the deployment
	Deployment string // its ID, if known
	changed    uint64 // index of the job's change; 0 if only the deployment is known
	outlet
}

// Follow publishes each change of the deployments until the last one has ended.
func (r *Rollout) Follow(ctx context.Context) error {
	defer r.bus.Close()
	link := link{say: r.say}
	if r.Evaluation != "" && r.Deployment == "" {
		err := link.follow(ctx, func(after uint64) (index uint64, enough bool, err error) {
			e, index, err := r.Job.Evaluation(ctx, r.Evaluation, after)
			if err != nil {
				return 0, r.Job.Server.Died(err), err
			}
			r.Deployment, r.changed = e.DeploymentID, e.JobModifyIndex
			return index, evaluated(e), nil
		})
		if err != nil {
			return err
		}
	}
	if r.Deployment == "" {
		return nil
	}
	return link.follow(ctx, func(after uint64) (index uint64, enough bool, err error) {
		all, index, err := r.Job.Deployments(ctx, after)
		if err == nil {
			enough, err = r.publish(ctx, all)
		}
		return index, enough || err != nil && r.Job.Server.Died(err), err
	})
}

// evaluated reports whether an evaluation can no longer create a deployment.
func evaluated(e *api.Evaluation) bool {
	return e.Status != api.EvalStatusPending && (e.Status != api.EvalStatusBlocked || e.DeploymentID != "")
}

// publish publishes the deployments and reports whether the last one has ended.
func (r *Rollout) publish(ctx context.Context, all []*api.Deployment) (ended bool, err error) {
	slices.SortFunc(all, func(a, b *api.Deployment) int { return cmp.Compare(a.JobVersion, b.JobVersion) })
	i := slices.IndexFunc(all, func(d *api.Deployment) bool { return d.ID == r.Deployment })
	if i < 0 {
		return false, nil // the server is behind
	}
	first := all[i]
	if first.JobSpecModifyIndex < r.changed {
		return true, nil // the change needs none: Nomad names the latest one
	}
	r.send(first)
	if !over(first) || first.Status != api.DeploymentStatusFailed || !reverts(first) {
		return over(first), nil
	}
	if i+1 < len(all) {
		next := all[i+1]
		r.send(next)
		return over(next), nil
	}
	// A rollback registers its version when the deployment fails.
	job, err := r.Job.Info(ctx)
	return err == nil && *job.Version == first.JobVersion, err
}

func (r *Rollout) send(d *api.Deployment) { r.bus.Publish(nil, "", eventOf(d.JobID, d)) }

func over(d *api.Deployment) bool {
	return slices.Contains([]string{api.DeploymentStatusSuccessful, api.DeploymentStatusFailed, api.DeploymentStatusCancelled}, d.Status)
}

// reverts reports whether a failure of the deployment rolls the job back.
func reverts(d *api.Deployment) bool {
	for _, g := range d.TaskGroups {
		if g.AutoRevert {
			return true
		}
	}
	return false
}

func eventOf(job string, d *api.Deployment) event.Deployment {
	canarying := false // it waits for canaries or their promotion
	for _, g := range d.TaskGroups {
		canarying = canarying || d.Status == api.DeploymentStatusRunning && g.DesiredCanaries > 0 && !g.Promoted
	}
	return event.Deployment{
		ID: d.ID, Job: job, Version: d.JobVersion, Status: d.Status, Description: d.StatusDescription, Canarying: canarying, API: d,
	}
}
