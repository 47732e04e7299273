package cmd

import (
	"context"
	"fmt"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
)

// update makes the jobs of the files the newest versions of those that run, and
// waits for their deployments as long as --timeout allows.
func (a *app) update(ctx context.Context, files []jobFile, opts upOptions) error {
	if opts.timeout < 0 {
		return usageError("cannot use a timeout of %v: it is negative", opts.timeout)
	}
	if opts.timeout > 0 {
		late := &exitError{code: exitTimeout, err: fmt.Errorf("the timeout of %v has passed; the deployment goes on", opts.timeout)}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, late)
		defer cancel()
	}
	servers, err := a.localServers(ctx)
	if err != nil {
		return err
	}
	running, err := a.jobs(ctx, servers)
	if err != nil {
		return err
	}
	var known []*client.Job // all of them, before the first is changed
	for _, f := range files {
		job, err := findJob(running, *f.Job.ID)
		if err != nil {
			return err
		}
		known = append(known, job)
	}
	for i, f := range files {
		evaluation, err := known[i].Register(ctx, f.Job, f.source)
		if err != nil {
			return err
		}
		if err := a.changed(ctx, known[i], "updated", client.Begun{Evaluation: evaluation}, opts.mode, opts.detach); err != nil {
			return err
		}
	}
	return nil
}

// changed says what was done to a job and, unless it is not to be waited for,
// shows how the deployment goes on to which that led.
func (a *app) changed(ctx context.Context, job *client.Job, what string, begun client.Begun, mode ui.Mode, detach bool) error {
	done := []ui.Done{{Job: job.ID, Label: "job " + job.ID}}
	if err := ui.WriteDone(a.streams, mode, what, done); err != nil || detach {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	show := &ui.Rollout{Streams: a.streams, Mode: mode, Colour: a.colour}
	d, err := job.Follow(ctx, begun, show.Show)
	if err != nil || d == nil {
		return stopped(ctx, err)
	}
	if d.Status == "successful" {
		return nil
	}
	failure := &exitError{code: exitFailed, err: fmt.Errorf("version %d of job %q is not deployed: %s", d.JobVersion, job.ID, d.StatusDescription)}
	next, err := job.Next(ctx, d)
	if err == nil && next != nil {
		_, err = job.Follow(ctx, client.Begun{Deployment: next.ID}, show.Show)
	}
	if err != nil {
		return stopped(ctx, err)
	}
	return failure
}
