package client

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// newsTime is how long a server may let a question for news wait.
const newsTime = time.Minute

// write returns the options of an order.
func (j *Job) write(ctx context.Context) *api.WriteOptions {
	return (&api.WriteOptions{Namespace: j.Namespace}).WithContext(ctx)
}

// change gives an order that changes nothing more when it is given twice, which
// happens when the engine dies. The error is explained.
func (j *Job) change(ctx context.Context, doing string, order func(*api.WriteOptions) error) error {
	return j.Server.retry(ctx, func() error {
		if err := order(j.write(ctx)); err != nil {
			return j.Server.explain(ctx, fmt.Sprintf("%s job %q", doing, j.ID), err)
		}
		return nil
	})
}

// Scale gives a group another count. It returns the ID of the evaluation with
// which that begins.
func (j *Job) Scale(ctx context.Context, group string, count int) (evaluation string, err error) {
	err = j.change(ctx, "scale", func(w *api.WriteOptions) error {
		answer, _, err := j.Server.API.Jobs().Scale(j.ID, group, &count, "scaled by taskrun", false, nil, w)
		if err == nil {
			evaluation = answer.EvalID
		}
		return err
	})
	return evaluation, err
}

// Groups returns the groups of the job and how many allocations each is to
// have.
func (j *Job) Groups(ctx context.Context) (map[string]int, error) {
	q, cancel := j.Server.query(ctx)
	defer cancel()
	q.Namespace = j.Namespace
	status, _, err := j.Server.API.Jobs().ScaleStatus(j.ID, q)
	if err != nil {
		return nil, j.Server.explain(q.Context(), fmt.Sprintf("get the groups of job %q", j.ID), err)
	}
	groups := map[string]int{}
	for name, g := range status.TaskGroups {
		groups[name] = g.Desired
	}
	return groups, nil
}

// Revert makes an earlier version of the job the newest one.
func (j *Job) Revert(ctx context.Context, version uint64) (evaluation string, err error) {
	answer, _, err := j.Server.API.Jobs().Revert(j.ID, version, nil, j.write(ctx), "", "")
	if err != nil {
		return "", j.Server.explain(ctx, fmt.Sprintf("revert job %q", j.ID), err)
	}
	return answer.EvalID, nil
}

// Versions returns the versions of the job that are known, the newest first.
func (j *Job) Versions(ctx context.Context) ([]*api.Job, error) {
	q, cancel := j.Server.query(ctx)
	defer cancel()
	q.Namespace = j.Namespace
	versions, _, _, err := j.Server.API.Jobs().Versions(j.ID, false, q)
	if err != nil {
		return nil, j.Server.explain(q.Context(), fmt.Sprintf("get the versions of job %q", j.ID), err)
	}
	return versions, nil
}

// Deployment returns the latest deployment of the job; nil when it has none.
func (j *Job) Deployment(ctx context.Context) (*api.Deployment, error) {
	q, cancel := j.Server.query(ctx)
	defer cancel()
	q.Namespace = j.Namespace
	d, _, err := j.Server.API.Jobs().LatestDeployment(j.ID, q)
	if err != nil {
		return nil, j.Server.explain(q.Context(), fmt.Sprintf("get the deployment of job %q", j.ID), err)
	}
	return d, nil
}

// Promote has the canaries of a deployment taken for good: those of some
// groups, or of all with none named.
func (j *Job) Promote(ctx context.Context, deployment string, groups []string) error {
	var err error
	if len(groups) == 0 {
		_, _, err = j.Server.API.Deployments().PromoteAll(deployment, j.write(ctx))
	} else {
		_, _, err = j.Server.API.Deployments().PromoteGroups(deployment, groups, j.write(ctx))
	}
	if err != nil {
		return j.Server.explain(ctx, fmt.Sprintf("promote the deployment of job %q", j.ID), err)
	}
	return nil
}

// Begun is how a deployment has begun, or will.
type Begun struct {
	Evaluation string // ID
	Deployment string // ID, where that is known
}

// Follow calls show with a deployment whenever there is news of it, until it
// has ended. It returns the last state; nil when there is no deployment.
func (j *Job) Follow(ctx context.Context, begun Begun, show func(*api.Deployment) error) (*api.Deployment, error) {
	id := begun.Deployment
	if id == "" {
		var err error
		if id, err = j.deploymentOf(ctx, begun.Evaluation); err != nil || id == "" {
			return nil, err
		}
	}
	for index := uint64(0); ; {
		var d *api.Deployment
		err := j.latest(ctx, "deployment", &index, func(q *api.QueryOptions) (meta *api.QueryMeta, err error) {
			d, meta, err = j.Server.API.Deployments().Info(id, q)
			return meta, err
		})
		if err != nil {
			return nil, err
		}
		if err := show(d); err != nil {
			return nil, err
		}
		switch d.Status {
		case "successful", "failed", "cancelled":
			return d, nil
		}
	}
}

// deploymentOf waits until an evaluation is complete.
func (j *Job) deploymentOf(ctx context.Context, evaluation string) (id string, err error) {
	for index := uint64(0); evaluation != ""; {
		var e *api.Evaluation
		err := j.latest(ctx, "evaluation", &index, func(q *api.QueryOptions) (meta *api.QueryMeta, err error) {
			e, meta, err = j.Server.API.Evaluations().Info(evaluation, q)
			return meta, err
		})
		switch {
		case err != nil:
			return "", err
		case e.Status == api.EvalStatusPending || e.Status == "blocked" && e.DeploymentID == "":
		default:
			return e.DeploymentID, nil
		}
	}
	return "", nil
}

// Next returns the deployment that follows one which has failed and is rolled
// back; nil if there is none.
func (j *Job) Next(ctx context.Context, failed *api.Deployment) (*api.Deployment, error) {
	if !strings.Contains(failed.StatusDescription, " - rolling back ") {
		return nil, nil
	}
	for index := uint64(0); ; {
		var d *api.Deployment
		err := j.latest(ctx, "deployment", &index, func(q *api.QueryOptions) (meta *api.QueryMeta, err error) {
			d, meta, err = j.Server.API.Jobs().LatestDeployment(j.ID, q)
			return meta, err
		})
		switch {
		case err != nil:
			return nil, err
		case d != nil && d.JobVersion > failed.JobVersion:
			return d, nil
		}
	}
}

// latest asks for what comes after an index, which it moves on. An engine that
// takes the place of one that died is asked for how things are.
func (j *Job) latest(ctx context.Context, of string, index *uint64, question func(*api.QueryOptions) (*api.QueryMeta, error)) error {
	return j.Server.retry(ctx, func() error {
		q := &api.QueryOptions{Namespace: j.Namespace, WaitIndex: *index, WaitTime: newsTime}
		meta, err := question(q.WithContext(ctx))
		if err != nil {
			*index = 0
			return j.Server.explain(ctx, fmt.Sprintf("follow the %s of job %q", of, j.ID), err)
		}
		*index = meta.LastIndex
		return nil
	})
}
