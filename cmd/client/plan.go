package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Plan asks what another version of the job would change.
func (j *Job) Plan(ctx context.Context, version *api.Job) (*api.JobPlanResponse, error) {
	q := (&api.WriteOptions{Namespace: j.Namespace}).WithContext(ctx)
	plan, _, err := j.Server.API.Jobs().Plan(version, true, q)
	if err != nil {
		return nil, j.Server.explain(ctx, fmt.Sprintf("plan job %q", j.ID), err)
	}
	return plan, nil
}

// Register makes another version of the job the newest one. It returns the ID
// of the evaluation with which that begins.
func (j *Job) Register(ctx context.Context, version *api.Job, source *api.JobSubmission) (evaluation string, err error) {
	answer, _, err := j.Server.API.Jobs().RegisterOpts(version, &api.RegisterOptions{Submission: source}, j.write(ctx))
	if err != nil {
		return "", j.Server.explain(ctx, fmt.Sprintf("update job %q", j.ID), err)
	}
	return answer.EvalID, nil
}
