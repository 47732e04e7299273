package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// clusterJob finds a job in a cluster, where none is guessed.
func clusterJob(ctx context.Context, a *app, c connection, id string) (target, error) {
	if id == "" {
		return target{}, usageError("name a job: of a cluster none is guessed").withHint("see: taskrun ps%s", c.words())
	}
	servers, err := a.servers(ctx, c)
	if err != nil {
		return target{}, err
	}
	s := servers[0]
	if s.Namespace() == api.AllNamespacesNamespace {
		return target{}, usageError("job %q can be in one namespace, not in all", id).withHint("name it with --namespace")
	}
	j, _, err := s.Info(ctx, id, 0)
	switch {
	case client.Missing(err):
		return target{}, (&exitError{code: exitFailed, err: fmt.Errorf("no job is called %q in %v", id, s)}).withHint("see: taskrun ps%s --all", c.words())
	case err != nil:
		return target{}, err
	}
	j.Canonicalize()
	return target{job: j, server: s, before: j}, nil
}

// attachCluster shows a job of a cluster until it has ended.
func attachCluster(ctx context.Context, a *app, id string, opts attachOptions) error {
	asking, stop := a.stoppable(ctx)
	t, err := clusterJob(asking, a, opts.connection, id)
	if err == nil && !runs(t.job) {
		err = (&exitError{code: exitFailed, err: fmt.Errorf("job %q does not run in %v", id, t.server)}).
			withHint("what it did is shown by: taskrun events%s %s", opts.words(), id)
	}
	r := &clusterRun{app: a, words: opts.words(), alone: true, jobs: []target{t}}
	options := view.Options{Mode: opts.mode, Color: a.color, Time: opts.time, Verbose: opts.verbose}
	var past []event.Event
	if err == nil {
		options.Begin = time.Unix(0, *t.job.SubmitTime)
		r.run = cluster.New([]cluster.Job{{Job: t.job, Server: t.server}})
		if !opts.history && opts.mode != ui.JSON {
			past, err = r.run.Past(asking)
			options.Said = soFar(past, r.apiJobs(), time.Since(options.Begin))
		}
	}
	stop()
	if err != nil {
		return stopped(asking, err)
	}
	return r.show(ctx, past, verdict.Policy{}, options)
}

// eventsOfCluster shows what has happened to a job in a cluster, as far as that
// knows it.
func eventsOfCluster(ctx context.Context, a *app, id string, opts eventsOptions) error {
	t, err := clusterJob(ctx, a, opts.connection, id)
	if err != nil {
		return err
	}
	run := cluster.New([]cluster.Job{{Job: t.job, Server: t.server}})
	run.Silent = true
	jobs := []*api.Job{t.job}
	if opts.follow {
		return showEvents(ctx, a, run, jobs, time.Unix(0, *t.job.SubmitTime), opts)
	}
	past, err := run.Past(ctx)
	if err != nil {
		return err
	}
	return showEvents(ctx, a, source.NewReplay(past), jobs, began(past), opts)
}
