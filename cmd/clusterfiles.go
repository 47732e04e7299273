package cmd

import (
	"context"
	"fmt"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// machineFlags have no effect in a cluster.
var machineFlags = []string{
	"rehearse", "offline", "no-restart", "driver", "stubs", "local", "enforce-memory", "host-paths", "http", "max-allocs", "neighbors",
	"memory-oversubscription",
}

// readForCluster reads job files for a cluster, which has its own limit of
// allocations and needs no stubs. If the jobs cannot run, it has shown why, and
// the error is silent.
func readForCluster(ctx context.Context, a *app, args []string, opts upOptions) ([]jobfile.File, jobspec.Diagnostics, error) {
	opts.Stubbed, opts.stubs, opts.local, opts.maxAllocs = false, "", "", 0
	files, diagnostics, err := a.readChecked(ctx, preflight.Cluster, args, opts.jobOptions, machineOptions{})
	if err != nil {
		return nil, nil, err
	}
	return files, diagnostics, opts.refuse(a, files, diagnostics)
}

// lookUpAll finds the cluster of each file's job, before any job is changed.
func lookUpAll(ctx context.Context, a *app, files []jobfile.File, opts upOptions) ([]clusterJob, error) {
	jobs := make([]clusterJob, len(files))
	for i, f := range files {
		var err error
		if jobs[i], err = lookUp(ctx, a, f, opts); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// lookUp finds the cluster of a job, lets the cluster validate the job, and
// reads the cluster's version of it.
func lookUp(ctx context.Context, a *app, f jobfile.File, opts upOptions) (clusterJob, error) {
	j := clusterJob{job: f.Job, source: f.Source}
	var err error
	if j.server, err = opts.at.ServerOf(f.Job); err != nil {
		return j, err
	}
	refused, err := j.server.Validate(ctx, f.Job)
	if err != nil {
		return j, err
	}
	if len(refused) > 0 {
		var diagnostics jobspec.Diagnostics
		for _, text := range refused {
			diagnostics = append(diagnostics, jobspec.Diagnostic{Summary: fmt.Sprintf("job %q: %s", *f.Job.ID, text), Detail: "the cluster says so"})
		}
		return j, opts.refuse(a, []jobfile.File{f}, diagnostics)
	}
	words, name := opts.at.Words(), event.JobName(event.JobKey(*f.Job.Namespace, *f.Job.ID))
	j.before, _, err = j.server.Info(ctx, *f.Job.ID, 0)
	switch {
	case client.Missing(err) && opts.update:
		return j, exit.Failed("job %q is not in %v", name, j.server).WithHint("run it with: taskrun up%s %s", words, f.Name)
	case client.Missing(err):
		j.before = nil
	case err != nil:
		return j, err
	case !opts.update && j.runs():
		where := clusterRun{at: opts.at, agent: opts.agent, jobs: []clusterJob{j}}
		return j, exit.Running("job %q runs in %v already", name, j.server).
			WithHint("change it with: taskrun update%[1]s %[2]s; see what that would mean with: taskrun plan%[1]s %[2]s; stop it with: %[3]s", words, f.Name, where.stopWords())
	}
	return j, nil
}
