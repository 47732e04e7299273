package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/hashicorp/nomad/api"
)

// order sends a request that changes something to a server, in its namespace.
func order[T any](ctx context.Context, s *Server, doing string, give func(*api.WriteOptions) (T, *api.WriteMeta, error)) (answer T, err error) {
	err = s.inTime(ctx, clusterTime, doing, func(ctx context.Context) (err error) {
		answer, _, err = give((&api.WriteOptions{Namespace: s.namespace}).WithContext(ctx))
		return err
	})
	return answer, err
}

// repeat sends an idempotent order. If another engine replaces one that died,
// the order is repeated.
func repeat[T any](ctx context.Context, s *Server, doing string, give func(*api.WriteOptions) (T, *api.WriteMeta, error)) (answer T, err error) {
	err = s.retry(ctx, func() (err error) {
		answer, err = order(ctx, s, doing, give)
		return err
	})
	return answer, err
}

// Plan returns what a canonical version of a job would change.
func (s *Server) Plan(ctx context.Context, version *api.Job) (*api.JobPlanResponse, error) {
	if s.namespace == "" || s.namespace == api.AllNamespacesNamespace {
		s = s.in(*version.Namespace)
	}
	return order(ctx, s, "plan job "+s.quoted(*version.ID), func(w *api.WriteOptions) (*api.JobPlanResponse, *api.WriteMeta, error) {
		return s.API.Jobs().Plan(version, true, w)
	})
}

// Validate returns the errors that a cluster finds in a job.
func (s *Server) Validate(ctx context.Context, job *api.Job) (errors []string, err error) {
	answer, err := order(ctx, s, "validate job "+s.quoted(*job.ID), func(w *api.WriteOptions) (*api.JobValidateResponse, *api.WriteMeta, error) {
		return s.API.Jobs().Validate(job, w)
	})
	switch {
	case err != nil:
		return nil, err
	case len(answer.ValidationErrors) == 0 && answer.Error != "":
		return []string{answer.Error}, nil
	}
	return answer.ValidationErrors, nil
}

// RegisterAt registers a job with its job file, unless the job has changed in the
// cluster since an index, 0 for a new job. The answer for a periodic or
// parameterized job has no evaluation.
func (s *Server) RegisterAt(ctx context.Context, job *api.Job, source *api.JobSubmission, index uint64) (*api.JobRegisterResponse, error) {
	how := &api.RegisterOptions{EnforceIndex: true, ModifyIndex: index, Submission: source}
	return order(ctx, s, "register job "+s.quoted(*job.ID), func(w *api.WriteOptions) (*api.JobRegisterResponse, *api.WriteMeta, error) {
		return s.API.Jobs().RegisterOpts(job, how, w)
	})
}

// Deregister stops a job of a cluster. It returns before the job has ended.
func (s *Server) Deregister(ctx context.Context, job string, how api.DeregisterOptions) error {
	_, err := order(ctx, s, "stop job "+s.quoted(job), func(w *api.WriteOptions) (string, *api.WriteMeta, error) {
		return s.API.Jobs().DeregisterOpts(job, &how, w)
	})
	return err
}

// Launch runs a periodic job at once.
func (s *Server) Launch(ctx context.Context, job string) error {
	_, err := order(ctx, s, "launch job "+s.quoted(job), func(w *api.WriteOptions) (string, *api.WriteMeta, error) {
		return s.API.Jobs().PeriodicForce(job, w)
	})
	return err
}

// Stopping is how to stop a job of an engine.
type Stopping struct {
	Run             string // "stop" or "kill": the whole run that has the job
	NoShutdownDelay bool   // wait for no shutdown_delay
}

// Stop stops the job of an engine with a key. It returns before the job has ended.
func (s *Server) Stop(ctx context.Context, job string, how Stopping) error {
	query := url.Values{}
	if how.Run != "" {
		query.Set("run", how.Run)
	}
	if how.NoShutdownDelay {
		query.Set("no_shutdown_delay", "true")
	}
	s, job = s.Of(job)
	_, err := repeat(ctx, s, "stop job "+s.quoted(job), func(w *api.WriteOptions) (any, *api.WriteMeta, error) {
		meta, err := s.API.Raw().Delete("/v1/job/"+url.PathEscape(job)+"?"+query.Encode(), nil, w)
		return nil, meta, err
	})
	return err
}

// order sends an order for the task's allocation. It has no time limit, because
// a task may take long to stop.
func (t *Task) order(ctx context.Context, doing string, give func(*api.Allocations, *api.Allocation, *api.QueryOptions) error) error {
	q := &api.QueryOptions{Namespace: t.Alloc.Namespace}
	return t.Server.explain(ctx, doing, give(t.Server.API.Allocations(), t.alloc(), q.WithContext(ctx)))
}

// Restart restarts the task and returns when its old run has ended.
func (t *Task) Restart(ctx context.Context) error {
	return t.order(ctx, fmt.Sprintf("restart task %q", t.Name), func(all *api.Allocations, of *api.Allocation, q *api.QueryOptions) error {
		return all.Restart(of, t.Name, q)
	})
}

// RestartAlloc restarts all tasks of the task's allocation, including dead ones, in
// the order of their lifecycle.
func (t *Task) RestartAlloc(ctx context.Context) error {
	return t.order(ctx, fmt.Sprintf("restart allocation %q", t.Alloc.Name), (*api.Allocations).RestartAllTasks)
}

// Stop stops the task alone, and returns when it has ended. It stays stopped until
// Start.
func (t *Task) Stop(ctx context.Context) error { return t.pause(ctx, "stop", "pause") }

// Start starts a task that Stop has stopped, and does not wait until it runs.
func (t *Task) Start(ctx context.Context) error { return t.pause(ctx, "start", "run") }

func (t *Task) pause(ctx context.Context, verb, state string) error {
	return t.order(ctx, fmt.Sprintf("%s task %q", verb, t.Name), func(all *api.Allocations, of *api.Allocation, q *api.QueryOptions) error {
		return all.SetPauseState(of, q, t.Name, state)
	})
}

// Signal sends the task a signal, which has Nomad's name.
func (t *Task) Signal(ctx context.Context, name string) error {
	return t.order(ctx, fmt.Sprintf("signal task %q", t.Name), func(all *api.Allocations, of *api.Allocation, q *api.QueryOptions) error {
		return all.Signal(of, q, t.Name, name)
	})
}
