package client

import (
	"context"

	"github.com/hashicorp/nomad/api"
)

// at returns the server in the namespace of the job, and the description of a
// request.
func (j *Job) at(doing string) (s *Server, what string) {
	s = j.Server.in(j.Namespace)
	return s, doing + " job " + s.quoted(j.ID)
}

// Groups returns the desired count of each group of the job.
func (j *Job) Groups(ctx context.Context) (map[string]int, error) {
	s, doing := j.at("get the groups of")
	status, _, err := askOf(ctx, s, doing, 0, j.ID, s.API.Jobs().ScaleStatus)
	if err != nil {
		return nil, err
	}
	groups := map[string]int{}
	for name, g := range status.TaskGroups {
		groups[name] = g.Desired
	}
	return groups, nil
}

// Versions returns the versions of the job that the server still knows, newest first.
func (j *Job) Versions(ctx context.Context) ([]*api.Job, error) {
	s, doing := j.at("get the versions of")
	versions, _, err := ask(ctx, s, doing, 0, func(q *api.QueryOptions) ([]*api.Job, *api.QueryMeta, error) {
		versions, _, meta, err := s.API.Jobs().Versions(j.ID, false, q)
		return versions, meta, err
	})
	return versions, err
}

// Deployment returns the latest deployment of the job, or nil.
func (j *Job) Deployment(ctx context.Context) (*api.Deployment, error) {
	d, _, err := j.Server.in(j.Namespace).Deployment(ctx, j.ID, 0)
	return d, err
}

// Info returns the current version of the job.
func (j *Job) Info(ctx context.Context) (*api.Job, error) {
	job, _, err := j.Server.in(j.Namespace).Info(ctx, j.ID, 0)
	return job, err
}

// Evaluation returns an evaluation of the job. Like Deployments it waits for a
// change after an index other than 0.
func (j *Job) Evaluation(ctx context.Context, id string, after uint64) (*api.Evaluation, uint64, error) {
	s, doing := j.at("follow the evaluation of")
	return askOf(ctx, s, doing, after, id, s.API.Evaluations().Info)
}

// Deployments returns all deployments of the job that the server still knows.
func (j *Job) Deployments(ctx context.Context, after uint64) ([]*api.Deployment, uint64, error) {
	s, doing := j.at("follow the deployment of")
	return ask(ctx, s, doing, after, func(q *api.QueryOptions) ([]*api.Deployment, *api.QueryMeta, error) {
		return s.API.Jobs().Deployments(j.ID, false, q)
	})
}

// Register makes another version of the job the newest one. Like Scale and
// Revert, it returns the ID of the evaluation.
func (j *Job) Register(ctx context.Context, version *api.Job, source *api.JobSubmission) (evaluation string, err error) {
	s, doing := j.at("update")
	return evaluationOf(repeat(ctx, s, doing, func(w *api.WriteOptions) (*api.JobRegisterResponse, *api.WriteMeta, error) {
		return s.API.Jobs().RegisterOpts(version, &api.RegisterOptions{Submission: source}, w)
	}))
}

// Scale changes the count of a group.
func (j *Job) Scale(ctx context.Context, group string, count int) (evaluation string, err error) {
	s, doing := j.at("scale")
	return evaluationOf(repeat(ctx, s, doing, func(w *api.WriteOptions) (*api.JobRegisterResponse, *api.WriteMeta, error) {
		return s.API.Jobs().Scale(j.ID, group, &count, "scaled by taskrun", false, nil, w)
	}))
}

// Revert makes an earlier version of the job the newest one.
func (j *Job) Revert(ctx context.Context, version uint64) (evaluation string, err error) {
	s, doing := j.at("revert")
	return evaluationOf(order(ctx, s, doing, func(w *api.WriteOptions) (*api.JobRegisterResponse, *api.WriteMeta, error) {
		return s.API.Jobs().Revert(j.ID, version, nil, w, "", "")
	}))
}

func evaluationOf(r *api.JobRegisterResponse, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return r.EvalID, nil
}

// Promote promotes the canaries of a deployment: those of some groups, or all if
// none is named.
func (j *Job) Promote(ctx context.Context, deployment string, groups []string) error {
	s, doing := j.at("promote the deployment of")
	_, err := order(ctx, s, doing, func(w *api.WriteOptions) (*api.DeploymentUpdateResponse, *api.WriteMeta, error) {
		if len(groups) == 0 {
			return s.API.Deployments().PromoteAll(deployment, w)
		}
		return s.API.Deployments().PromoteGroups(deployment, groups, w)
	})
	return err
}

// FailDeployment lets a deployment fail.
func (j *Job) FailDeployment(ctx context.Context, deployment string) error {
	s, doing := j.at("fail the deployment of")
	_, err := order(ctx, s, doing, func(w *api.WriteOptions) (*api.DeploymentUpdateResponse, *api.WriteMeta, error) {
		return s.API.Deployments().Fail(deployment, w)
	})
	return err
}

// Dispatch runs a parameterized job and returns the ID of the dispatched job.
func (j *Job) Dispatch(ctx context.Context, meta map[string]string, payload []byte) (id string, err error) {
	s, doing := j.at("dispatch")
	answer, err := order(ctx, s, doing, func(w *api.WriteOptions) (*api.JobDispatchResponse, *api.WriteMeta, error) {
		return s.API.Jobs().Dispatch(j.ID, meta, payload, "", w)
	})
	if err != nil {
		return "", err
	}
	return answer.DispatchedJobID, nil
}
