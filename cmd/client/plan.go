package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Plan asks what a canonical version of a job would change.
func (s *Server) Plan(ctx context.Context, version *api.Job) (*api.JobPlanResponse, error) {
	namespace := s.namespace
	if namespace == "" {
		namespace = *version.Namespace
	}
	q := (&api.WriteOptions{Namespace: namespace}).WithContext(ctx)
	plan, _, err := s.API.Jobs().Plan(version, true, q)
	if err != nil {
		return nil, s.explain(ctx, fmt.Sprintf("plan job %q", *version.ID), err)
	}
	return plan, nil
}

// Register makes another version of the job the newest one. It returns the ID
// of the evaluation with which that begins.
func (j *Job) Register(ctx context.Context, version *api.Job, source *api.JobSubmission) (evaluation string, err error) {
	err = j.change(ctx, "update", func(w *api.WriteOptions) error {
		answer, _, err := j.Server.API.Jobs().RegisterOpts(version, &api.RegisterOptions{Submission: source}, w)
		if err == nil {
			evaluation = answer.EvalID
		}
		return err
	})
	return evaluation, err
}
