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
