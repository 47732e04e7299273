package client

import (
	"context"
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// Validate asks a cluster what is wrong with a job. The faults are its words.
func (s *Server) Validate(ctx context.Context, job *api.Job) (faults []string, err error) {
	w, cancel := s.write(ctx)
	defer cancel()
	answer, _, err := s.API.Jobs().Validate(job, w)
	if err != nil {
		return nil, s.explain(w.Context(), fmt.Sprintf("validate job %q", *job.ID), err)
	}
	if faults = answer.ValidationErrors; len(faults) == 0 && answer.Error != "" {
		faults = []string{answer.Error}
	}
	return faults, nil
}

// Registered is the answer to a registration.
type Registered struct {
	EvalID   string // empty for a job that launches others
	Warnings string // in the server's words
}

// RegisterAt registers a job with the text that it comes from, if what the
// cluster has of it is still as it was at an index, 0 for nothing.
func (s *Server) RegisterAt(ctx context.Context, job *api.Job, source *api.JobSubmission, index uint64) (*Registered, error) {
	w, cancel := s.write(ctx)
	defer cancel()
	how := &api.RegisterOptions{EnforceIndex: true, ModifyIndex: index, Submission: source}
	answer, _, err := s.API.Jobs().RegisterOpts(job, how, w)
	if err != nil {
		return nil, s.explain(w.Context(), fmt.Sprintf("register job %q", *job.ID), err)
	}
	return &Registered{answer.EvalID, answer.Warnings}, nil
}

// Deregistration is how a job is stopped.
type Deregistration struct {
	Purge   bool // forget the job
	NoDelay bool // leave out shutdown_delay
}

// Deregister stops a job of a cluster. It returns before the job has ended.
func (s *Server) Deregister(ctx context.Context, job string, how Deregistration) error {
	w, cancel := s.write(ctx)
	defer cancel()
	_, _, err := s.API.Jobs().DeregisterOpts(job, &api.DeregisterOptions{Purge: how.Purge, NoShutdownDelay: how.NoDelay}, w)
	if err != nil {
		return s.explain(w.Context(), fmt.Sprintf("stop job %q", job), err)
	}
	return nil
}

// Launch runs a periodic job at once.
func (s *Server) Launch(ctx context.Context, job string) error {
	w, cancel := s.write(ctx)
	defer cancel()
	if _, _, err := s.API.Jobs().PeriodicForce(job, w); err != nil {
		return s.explain(w.Context(), fmt.Sprintf("launch job %q", job), err)
	}
	return nil
}

// write returns the options of a write that has to be answered in time.
func (s *Server) write(ctx context.Context) (*api.WriteOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, fmt.Errorf("no answer within %v", clusterTime))
	return (&api.WriteOptions{Namespace: s.namespace}).WithContext(ctx), cancel
}
