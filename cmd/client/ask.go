package client

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
)

// How long a cluster is asked to wait for a change, and how much longer it may
// take to answer: it adds a sixteenth, and what is between drops what is silent
// for a minute.
const (
	waitTime  = 45 * time.Second
	graceTime = 15 * time.Second
)

// askCluster asks a question of a cluster. With the index of an earlier answer it
// waits for another one, for a while.
func askCluster[T any](ctx context.Context, s *Server, doing string, after uint64, question func(*api.QueryOptions) (T, *api.QueryMeta, error)) (answer T, index uint64, err error) {
	limit := clusterTime
	if after > 0 {
		limit = waitTime + graceTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	q := &api.QueryOptions{Namespace: s.namespace, WaitIndex: after, WaitTime: waitTime}
	answer, meta, err := question(q.WithContext(ctx))
	if err != nil {
		return answer, 0, s.explain(ctx, doing, err)
	}
	return answer, meta.LastIndex, nil
}

// Info returns a job as the cluster has it. Missing tells of the error when it
// has none. Like those below it waits for a change after an index, unless that
// is 0.
func (s *Server) Info(ctx context.Context, job string, after uint64) (*api.Job, uint64, error) {
	return askCluster(ctx, s, fmt.Sprintf("ask for job %q", job), after, func(q *api.QueryOptions) (*api.Job, *api.QueryMeta, error) {
		return s.API.Jobs().Info(job, q)
	})
}

// Allocations returns those of a job that are not forgotten.
func (s *Server) Allocations(ctx context.Context, job string, after uint64) ([]*api.AllocationListStub, uint64, error) {
	return askCluster(ctx, s, fmt.Sprintf("list the allocations of job %q", job), after, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		return s.API.Jobs().Allocations(job, false, q)
	})
}

// Evaluations returns those of a job.
func (s *Server) Evaluations(ctx context.Context, job string, after uint64) ([]*api.Evaluation, uint64, error) {
	return askCluster(ctx, s, fmt.Sprintf("list the evaluations of job %q", job), after, func(q *api.QueryOptions) ([]*api.Evaluation, *api.QueryMeta, error) {
		return s.API.Jobs().Evaluations(job, q)
	})
}

// Deployment returns the latest one of a job, nil when there is none.
func (s *Server) Deployment(ctx context.Context, job string, after uint64) (*api.Deployment, uint64, error) {
	return askCluster(ctx, s, fmt.Sprintf("ask for the deployment of job %q", job), after, func(q *api.QueryOptions) (*api.Deployment, *api.QueryMeta, error) {
		return s.API.Jobs().LatestDeployment(job, q)
	})
}

// Children returns the jobs that run in the name of a periodic or parameterized
// one.
func (s *Server) Children(ctx context.Context, job string, after uint64) (children []*api.JobListStub, index uint64, err error) {
	list, index, err := askCluster(ctx, s, fmt.Sprintf("list the jobs of %q", job), after, func(q *api.QueryOptions) ([]*api.JobListStub, *api.QueryMeta, error) {
		q.Prefix = job + "/"
		return s.API.Jobs().List(q)
	})
	for _, stub := range list {
		if stub.ParentID == job {
			children = append(children, stub)
		}
	}
	return children, index, err
}

// Tasks returns the tasks of a job or, without one, all that there are.
func (s *Server) Tasks(ctx context.Context, job string, after uint64) ([]*Task, uint64, error) {
	stubs, index, err := askCluster(ctx, s, "list the tasks", after, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		return s.list(job, q)
	})
	return s.split(stubs), index, err
}
