package client

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// waitTime is how long a blocking query waits for a change. The server adds up to
// a sixteenth, and proxies drop connections that are silent for a minute.
const (
	waitTime  = 45 * time.Second
	graceTime = 15 * time.Second
)

// ask sends a query to a server, in its namespace, and returns the answer and
// its index. With the index of an earlier answer, the query blocks until there
// is a new one, or for waitTime. If another engine replaces one that died, the
// query is repeated.
func ask[T any](ctx context.Context, s *Server, doing string, after uint64, question func(*api.QueryOptions) (T, *api.QueryMeta, error)) (answer T, index uint64, err error) {
	limit := localTime
	switch {
	case after > 0 || s.Patient:
		limit = waitTime + graceTime
	case s.Socket == "":
		limit = clusterTime
	}
	err = s.retry(ctx, func() error {
		return s.inTime(ctx, limit, doing, func(ctx context.Context) error {
			q := &api.QueryOptions{Namespace: s.namespace, WaitIndex: after}
			if after > 0 {
				q.WaitTime = waitTime
			}
			found, meta, err := question(q.WithContext(ctx))
			if err != nil {
				after = 0 // another engine may have other indexes
				return err
			}
			answer, index = found, max(meta.LastIndex, 1) // of an empty list it is 0, which means not to wait
			return nil
		})
	})
	return answer, index, err
}

// askOf sends a query about an object with an ID or a name.
func askOf[T any](ctx context.Context, s *Server, doing string, after uint64, id string, question func(string, *api.QueryOptions) (T, *api.QueryMeta, error)) (answer T, index uint64, err error) {
	return ask(ctx, s, doing, after, func(q *api.QueryOptions) (T, *api.QueryMeta, error) { return question(id, q) })
}

// inTime calls f, whose context ends after limit, and explains its error.
func (s *Server) inTime(ctx context.Context, limit time.Duration, doing string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	return s.explain(ctx, doing, f(ctx))
}

// Info returns a job. Like the methods below, it waits for a change after an
// index other than 0.
func (s *Server) Info(ctx context.Context, job string, after uint64) (*api.Job, uint64, error) {
	return askOf(ctx, s, "get job "+s.quoted(job), after, job, s.API.Jobs().Info)
}

// Allocations returns the allocations of a job that the server still knows.
func (s *Server) Allocations(ctx context.Context, job string, after uint64) ([]*api.AllocationListStub, uint64, error) {
	return ask(ctx, s, "list the allocations of job "+s.quoted(job), after, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		return s.API.Jobs().Allocations(job, false, q)
	})
}

// Evaluations returns the evaluations of a job.
func (s *Server) Evaluations(ctx context.Context, job string, after uint64) ([]*api.Evaluation, uint64, error) {
	return askOf(ctx, s, "list the evaluations of job "+s.quoted(job), after, job, s.API.Jobs().Evaluations)
}

// Deployment returns the latest deployment of a job, nil when it has none.
func (s *Server) Deployment(ctx context.Context, job string, after uint64) (*api.Deployment, uint64, error) {
	return askOf(ctx, s, "get the deployment of job "+s.quoted(job), after, job, s.API.Jobs().LatestDeployment)
}

// Children returns the jobs that a periodic or parameterized job has launched.
func (s *Server) Children(ctx context.Context, job string, after uint64) ([]*api.JobListStub, uint64, error) {
	list, index, err := ask(ctx, s, "list the jobs of "+s.quoted(job), after, func(q *api.QueryOptions) ([]*api.JobListStub, *api.QueryMeta, error) {
		q.Prefix = job + "/"
		return s.API.Jobs().List(q)
	})
	return slices.DeleteFunc(list, func(j *api.JobListStub) bool { return j.ParentID != job }), index, err
}

// Tasks returns the tasks of a job or, without one, of all jobs, sorted by job,
// allocation and name.
func (s *Server) Tasks(ctx context.Context, job string, after uint64) ([]*Task, uint64, error) {
	stubs, index, err := ask(ctx, s, "list the tasks", after, func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		if job != "" && s.namespace != api.AllNamespacesNamespace {
			return s.API.Jobs().Allocations(job, false, q)
		}
		return s.API.Allocations().List(q)
	})
	other := func(a *api.AllocationListStub) bool {
		return job != "" && !event.NamesJob(job, s.Key(a.Namespace, a.JobID))
	}
	tasks := s.split(slices.DeleteFunc(stubs, other))
	sortTasks(tasks)
	return tasks, index, err
}

// Services returns the services of all namespaces.
func (s *Server) Services(ctx context.Context, after uint64) (list []*api.ServiceRegistration, index uint64, err error) {
	const doing = "list the services"
	stubs, index, err := ask(ctx, s.in(api.AllNamespacesNamespace), doing, after, s.API.Services().List)
	for _, in := range stubs {
		for _, stub := range in.Services {
			found, _, err := askOf(ctx, s.in(in.Namespace), doing, 0, stub.ServiceName, s.API.Services().Get)
			if err != nil {
				return nil, 0, err
			}
			list = append(list, found...)
		}
	}
	return list, index, err
}

// VariableValues returns the values of all variables of a run of this machine.
func (s *Server) VariableValues(ctx context.Context) (values []string, err error) {
	list, _, err := ask(ctx, s, "list the variables", 0, s.API.Variables().List)
	if err != nil {
		return nil, err
	}
	for _, about := range list {
		v, _, err := askOf(ctx, s.in(about.Namespace), fmt.Sprintf("read variable %q", about.Path), 0, about.Path, s.API.Variables().Read)
		if err != nil {
			return nil, err
		}
		values = slices.AppendSeq(values, maps.Values(v.Items))
	}
	return values, nil
}
