package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
)

func upCluster(ctx context.Context, a *app, args []string, opts upOptions) error {
	if err := opts.checkCluster(); err != nil {
		return err
	}
	if opts.ui {
		if err := a.NeedsTerminal(); err != nil {
			return err
		}
	}
	defer opts.reports.CloseSection()
	files, diagnostics, err := readForCluster(ctx, a, args, opts)
	if err != nil {
		return err
	}
	p, err := opts.policy(files)
	if err != nil {
		return err
	}
	began := time.Now()
	if opts.update {
		p.Since = began
	}
	r := &clusterRun{a: a, at: opts.at, agent: opts.agent, reports: opts.reports}
	asking, stop := a.Stoppable(ctx)
	var past []event.Event
	var warnings []ui.Diagnostic
	jobs, err := lookUpAll(asking, a, files, opts)
	if err == nil {
		past, warnings, err = r.register(asking, jobs, opts.now)
	}
	stop()
	if err != nil {
		return exit.Stopped(asking, r.halfway(err))
	}
	warnings = append(console.AsDiagnostics(diagnostics), warnings...)
	if opts.detach {
		return detachCluster(ctx, r, warnings, past, opts)
	}
	if opts.ui {
		if err := ui.WriteWarnings(a.Streams, opts.mode, a.Color, warnings); err != nil {
			return err
		}
		return r.onScreen(ctx, past, p, began)
	}
	return r.show(ctx, past, p, view.Options{
		Mode: opts.mode, Color: a.Color, Time: opts.time, Verbose: opts.verbose, Warnings: warnings, Begin: began,
		Prefix: opts.shown.prefix, Shows: opts.shown.filter(jobfile.Jobs(files)),
	})
}

// upAgent runs jobs in the agent of the data directory, as in a cluster.
func upAgent(ctx context.Context, a *app, args []string, opts upOptions, remote bool) error {
	switch i := slices.IndexFunc(machineFlags, opts.at.Flags.Changed); {
	case remote:
		return exit.Usage("--agent cannot be combined with --address").WithHint("leave out one of them")
	case opts.repeats():
		return exit.Usage("--repeat and --until-fail cannot be combined with --agent: an agent keeps the job between its runs")
	case i >= 0:
		return exit.Usage("--%s cannot be combined with --agent: the agent decides", machineFlags[i]).WithHint("give it to taskrun agent")
	}
	_, found, err := a.needAgent(ctx, opts.dataDir, continueTasks)
	if err != nil {
		return err
	}
	opts.at.Cluster.Address = "unix://" + found.Server.Socket
	return upCluster(ctx, a, args, opts)
}

// register registers jobs that lookUpAll has returned, and launches periodic
// ones if now is set. It returns their events up to that point.
func (r *clusterRun) register(ctx context.Context, jobs []clusterJob, now bool) (past []event.Event, warnings []ui.Diagnostic, err error) {
	var followed []cluster.Job
	for _, j := range jobs {
		f, err := j.followed(ctx)
		if err != nil {
			return nil, nil, err
		}
		followed = append(followed, f)
	}
	r.run = cluster.New(followed)
	if past, err = r.run.Past(ctx); err != nil {
		return nil, nil, err
	}
	for i, j := range jobs {
		evaluation, said, err := j.register(ctx)
		if err != nil {
			return nil, nil, err
		}
		r.jobs = append(r.jobs, j)
		for _, line := range said {
			warnings = append(warnings, ui.Diagnostic{Severity: "warning", Summary: line})
		}
		known, _, err := j.server.Info(ctx, *j.job.ID, 0)
		if err != nil {
			return nil, nil, err
		}
		known.Canonicalize()
		r.jobs[i].job = known
		followed[i].Job, followed[i].EvalID = known, evaluation
		r.run.Registered(followed[i])
		past = slices.DeleteFunc(past, func(e event.Event) bool { return replaced(e, known) })
		if now && known.IsPeriodic() {
			if err := j.server.Launch(ctx, *known.ID); err != nil {
				return nil, nil, err
			}
		}
	}
	return past, warnings, nil
}

// replaced reports whether an event is that of a deployment of an earlier version of a
// job, whose end is not published.
func replaced(e event.Event, j *api.Job) bool {
	d, ok := e.Body.(event.Deployment)
	return ok && d.Job == *j.ID && d.Version < *j.Version
}

// halfway adds to an error the jobs that were registered before it.
func (r *clusterRun) halfway(err error) error {
	known, ok := errors.AsType[*exit.Error](err)
	if len(r.jobs) == 0 || ok && known.Err == nil {
		return err
	}
	e := &exit.Error{Code: exit.Code(err), Err: err}
	return e.WithHint("already registered: %s; stop it with: %s", strings.Join(r.names(), ", "), r.stopWords())
}

// detachCluster reports where the jobs run, after waiting until they are ready
// if the options say so.
func detachCluster(ctx context.Context, r *clusterRun, warnings []ui.Diagnostic, past []event.Event, opts upOptions) error {
	a := r.a
	if err := ui.WriteWarnings(a.Streams, opts.mode, a.Color, warnings); err != nil {
		return err
	}
	if opts.wait {
		if err := r.waitReady(ctx, past, opts); err != nil {
			return err
		}
	}
	var runs []answer.Detached
	for _, j := range r.jobs {
		runs = append(runs, answer.Detached{
			Run:  ui.Run{Job: *j.job.ID, Version: currentVersion().Version, Address: j.server.Address},
			Name: r.nameOf(j), Flags: r.flagsOf(j),
		})
	}
	return answer.WriteDetached(a.Answer(opts.mode), runs)
}
