package cmd

import (
	"context"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
)

// stopCluster stops a job of a cluster and waits for its end. Who does not want
// to wait any more leaves it to end.
func stopCluster(ctx context.Context, a *app, id string, opts stopOptions) error {
	ctx, stop := a.stoppable(ctx)
	defer stop()
	t, err := clusterJob(ctx, a, opts.connection, id)
	if err != nil {
		return stopped(ctx, err)
	}
	j := cluster.Job{Job: t.job, Server: t.server, Over: map[string]bool{}}
	if err := j.LeaveOutEnded(ctx); err != nil {
		return stopped(ctx, err)
	}
	run := cluster.New([]cluster.Job{j})
	run.Silent = true
	how := api.DeregisterOptions{Purge: opts.purge, NoShutdownDelay: opts.noDelay}
	if err := t.server.Deregister(ctx, id, how); err != nil {
		return stopped(ctx, err)
	}
	if opts.detach || j.Launches() { // what it has launched goes on
		return opts.done(a, id)
	}
	v := verdict.New(verdict.Policy{Outlives: true}, nil)
	switch err := follow(ctx, &source.Loop{Source: run, Decider: v}); {
	case err != nil && ctx.Err() != nil:
		a.say("it is stopping, and not waited for any more")
		return stopped(ctx, err)
	case err != nil:
		return err
	}
	if err := opts.done(a, id); err != nil {
		return err
	}
	if slices.ContainsFunc(v.Run.Allocs, func(a *fold.Alloc) bool { return a.Status == api.AllocClientStatusFailed }) {
		return silent(exitFailed)
	}
	return nil
}
