package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// machineFlags of "up" mean nothing in a cluster.
var machineFlags = []string{
	"rehearse", "offline", "no-restart", "driver", "stubs", "local", "enforce-memory", "host-paths", "http", "max-allocs",
	"memory-oversubscription",
}

// checkCluster refuses what goes together with a run of this machine alone, or
// not at all in a cluster.
func (o *upOptions) checkCluster() error {
	switch {
	case o.wait && !o.detach:
		return usageError("cannot --wait for a run that is shown").withHint("add --detach, or say when it is to end with --until")
	case !o.detach:
		return nil
	case o.failFast || o.codeFrom != "":
		return usageError("cannot use --fail-fast or --exit-code-from with --detach: nobody would be there to stop the job").withHint("leave out --detach")
	case !o.wait && (o.timeout != 0 || o.until != verdict.Until{}):
		return usageError("cannot use --timeout or --until with --detach in a cluster: nobody would be there to stop the job").
			withHint("with --wait they say how long it is waited, and for what")
	}
	return nil
}

// upCluster runs jobs in a Nomad cluster and shows what happens.
func upCluster(ctx context.Context, a *app, args []string, opts upOptions) error {
	if err := opts.checkCluster(); err != nil {
		return err
	}
	files, diagnostics, err := readForCluster(ctx, a, args, &opts)
	if err != nil {
		return err
	}
	p, err := opts.policy(files)
	if err != nil {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	began := time.Now()
	r := &clusterRun{app: a, words: opts.at.words()}
	past, err := r.register(ctx, files, opts)
	stop()
	if err != nil {
		return stopped(ctx, r.halfway(err))
	}
	if opts.update {
		p.Since = began
	}
	warnings := append(asDiagnostics(diagnostics), r.warnings...)
	if opts.detach {
		return detachCluster(context.WithoutCancel(ctx), a, r, warnings, past, opts)
	}
	return r.show(context.WithoutCancel(ctx), past, p, view.Options{
		Mode: opts.mode, Color: a.color, Time: opts.time, Verbose: opts.verbose, Warnings: warnings, Begin: began,
	})
}

// readForCluster reads files whose jobs are for a cluster, which has its own
// limit of allocations and needs no stubs. The error is silent when they have
// mistakes.
func readForCluster(ctx context.Context, a *app, args []string, opts *upOptions) ([]jobfile.File, jobspec.Diagnostics, error) {
	opts.Stubbed, opts.stubs, opts.local, opts.maxAllocs = false, "", "", 0
	files, diagnostics, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return nil, nil, err
	}
	diagnostics = a.check(preflight.Cluster, files, diagnostics, opts.jobOptions, machineOptions{})
	return files, diagnostics, a.refuse(files, diagnostics, opts.mode)
}

// target is a job file with the place where it is to run.
type target struct {
	job    *api.Job
	source *api.JobSubmission // its file
	server *client.Server
	before *api.Job // what the cluster has of it; nil for nothing
}

// register registers the jobs of files, all of which are looked at before the
// first is. It returns what has happened to them until then.
func (r *clusterRun) register(ctx context.Context, files []jobfile.File, opts upOptions) (past []event.Event, err error) {
	var targets []target
	var jobs []cluster.Job
	for _, f := range files {
		t, err := r.look(ctx, f, opts)
		if err != nil {
			return nil, err
		}
		j := cluster.Job{Job: t.job, Server: t.server, Over: map[string]bool{}}
		if t.before != nil {
			if err := j.LeaveOutEnded(ctx); err != nil {
				return nil, err
			}
		}
		targets, jobs = append(targets, t), append(jobs, j)
	}
	r.run = cluster.New(jobs)
	if past, err = r.run.Past(ctx); err != nil {
		return nil, err
	}
	for i, t := range targets {
		index := uint64(0)
		if t.before != nil {
			index = *t.before.JobModifyIndex
		}
		answer, err := t.server.RegisterAt(ctx, t.job, t.source, index)
		if err != nil {
			return nil, err
		}
		r.jobs = append(r.jobs, t)
		for _, line := range itemsOf(answer.Warnings) {
			r.warnings = append(r.warnings, ui.Diagnostic{Severity: "warning", Summary: line})
		}
		known, _, err := t.server.Info(ctx, *t.job.ID, 0)
		if err != nil {
			return nil, err
		}
		known.Canonicalize()
		r.jobs[i].job = known
		jobs[i].Job, jobs[i].EvalID = known, answer.EvalID
		r.run.Registered(jobs[i])
		if opts.now && known.IsPeriodic() {
			if err := t.server.Launch(ctx, *known.ID); err != nil {
				return nil, err
			}
		}
	}
	return past, nil
}

// itemsOf takes a server's list apart: a heading, and lines behind stars.
func itemsOf(text string) (items []string) {
	for line := range strings.Lines(text) {
		item, starred := strings.CutPrefix(strings.TrimSpace(line), "* ")
		if item != "" && (starred || !strings.HasSuffix(item, ":")) {
			items = append(items, item)
		}
	}
	return items
}

// look finds the cluster of a job, has it validate the job, and asks what it
// has of it.
func (r *clusterRun) look(ctx context.Context, f jobfile.File, opts upOptions) (target, error) {
	t := target{job: f.Job, source: f.Source}
	var err error
	if t.server, err = opts.at.serverOf(f.Job); err != nil {
		return t, err
	}
	faults, err := t.server.Validate(ctx, f.Job)
	if err != nil {
		return t, err
	}
	if len(faults) > 0 {
		var diagnostics jobspec.Diagnostics
		for _, fault := range faults {
			diagnostics = append(diagnostics, jobspec.Diagnostic{Summary: fmt.Sprintf("job %q: %s", *f.Job.ID, fault), Detail: "the cluster says so"})
		}
		return t, r.refuse([]jobfile.File{f}, diagnostics, opts.mode)
	}
	t.before, _, err = t.server.Info(ctx, *f.Job.ID, 0)
	switch {
	case client.Missing(err) && opts.update:
		return t, (&exitError{code: exitFailed, err: fmt.Errorf("job %q is not in %v", *f.Job.ID, t.server)}).withHint("run it with: taskrun up%s %s", r.words, f.Name)
	case client.Missing(err):
		t.before = nil
	case err != nil:
		return t, err
	case !opts.update && runs(t.before):
		return t, usageError("job %q runs in %v already", *f.Job.ID, t.server).
			withHint("change it with: taskrun update%[1]s %[2]s; see what that would mean with: taskrun plan%[1]s %[2]s", r.words, f.Name)
	}
	return t, nil
}

func runs(j *api.Job) bool {
	return (j.Stop == nil || !*j.Stop) && j.Status != nil && *j.Status != "dead"
}

// serverOf returns the cluster with the region and the namespace of a job.
func (c *connection) serverOf(j *api.Job) (*client.Server, error) {
	at := c.cluster
	for _, own := range []struct {
		flag, value, usual string
		to                 *string
	}{
		{"namespace", *j.Namespace, api.DefaultNamespace, &at.Namespace},
		{"region", *j.Region, api.GlobalRegion, &at.Region},
	} {
		switch {
		case own.value == own.usual:
		case c.flags.Changed(own.flag) && *own.to != own.value:
			return nil, usageError("job %q is for %s %q, and --%s says %q", *j.ID, own.flag, own.value, own.flag, *own.to)
		default:
			*own.to = own.value
		}
	}
	if at.Namespace == api.AllNamespacesNamespace {
		return nil, usageError("job %q can be in one namespace, not in all", *j.ID).withHint("name it with --namespace")
	}
	s, err := client.Remote(at)
	if err != nil {
		return nil, usageError("%w", err)
	}
	return s, nil
}

// halfway adds to an error which jobs were registered before it.
func (r *clusterRun) halfway(err error) error {
	var exit *exitError
	if len(r.jobs) == 0 || errors.As(err, &exit) && exit.err == nil {
		return err
	}
	e := &exitError{code: exitCode(err), err: err}
	return e.withHint("registered is already: %s; stop it with: %s", strings.Join(r.ids(), ", "), r.stopWords())
}

// detachCluster tells where the jobs are, once they are as they should be if
// that is wanted.
func detachCluster(ctx context.Context, a *app, r *clusterRun, warnings []ui.Diagnostic, past []event.Event, opts upOptions) error {
	if err := ui.WriteWarnings(a.streams, opts.mode, a.color, warnings); err != nil {
		return err
	}
	if opts.wait {
		if err := r.await(ctx, past, opts); err != nil {
			return err
		}
	}
	var runs []ui.Run
	for _, t := range r.jobs {
		runs = append(runs, ui.Run{Job: *t.job.ID, Version: currentVersion().Version, Address: r.jobs[0].server.Address})
	}
	return answer.WriteDetached(answerTo(a, opts.mode), r.words, runs)
}
