package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/ui"
)

func newUpdateCommand(a *app) *cobra.Command {
	opts := upOptions{mode: ui.Plain, update: true}
	cmd := &cobra.Command{
		Use:   "update [FILE...]",
		Short: "Change running jobs to what their files say",
		Long: `Register the job of each file as the newest version of the running job of that
name, and wait for its deployment. "taskrun plan" shows the steps beforehand.
Nothing changes unless all files are valid and all their jobs are running.

` + fileHelp + `

The stubs file is for the check of the job files; the run itself goes on with
the stubs file that it was started with.` + fmt.Sprintf(changeHelp, "updated") + `
  124  --timeout passed; the deployment continues`,
		Example: `  taskrun update web.nomad.hcl
  taskrun update --detach --var count=3 web.nomad.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.jsonErrors = opts.mode == ui.JSON
			remote, err := opts.at.remote(machineFlags...)
			switch {
			case err != nil:
				return err
			case remote:
				return updateCluster(cmd.Context(), a, args, opts)
			}
			return updateHere(cmd.Context(), a, args, opts)
		},
	}
	flags := cmd.Flags()
	opts.jobOptions.bind(flags)
	opts.bindStubs(flags)
	opts.bindStrict(flags)
	opts.bindMaxAllocs(flags)
	opts.machineOptions.bind(flags)
	opts.bindTimeout(flags)
	opts.at.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	bindNoWait(flags, &opts.detach)
	return cmd
}

// updateHere makes the jobs of files the newest versions of those that run on
// this machine, and waits for their deployments.
func updateHere(ctx context.Context, a *app, args []string, opts upOptions) error {
	dataDir, err := a.dataDir(opts.dataDir)
	if err != nil {
		return err
	}
	files, warnings, err := readToRun(ctx, a, args, opts, dataDir, nil)
	if err != nil {
		return err
	}
	if err := a.showWarnings(warnings, opts.mode, files); err != nil {
		return err
	}
	ctx, cancel, err := opts.untilOverdue(ctx)
	if err != nil {
		return err
	}
	defer cancel()
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
		evaluation, err := known[i].Register(ctx, f.Job, f.Source)
		if err != nil {
			return err
		}
		if err := followChange(ctx, a, &cluster.Rollout{Job: known[i], Evaluation: evaluation}, "updated", opts.mode, opts.detach); err != nil {
			return err
		}
	}
	return nil
}

// untilOverdue returns a context that ends when --timeout has passed.
func (o *upOptions) untilOverdue(ctx context.Context) (context.Context, context.CancelFunc, error) {
	switch {
	case o.timeout < 0:
		return nil, nil, usageError("cannot use a timeout of %v: it is negative", o.timeout)
	case o.timeout == 0:
		return ctx, func() {}, nil
	}
	late := &exitError{code: exitTimeout, err: fmt.Errorf("the timeout of %v has passed; the deployment goes on", o.timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, late)
	return ctx, cancel, nil
}

// updateCluster does the same in a Nomad cluster.
func updateCluster(ctx context.Context, a *app, args []string, opts upOptions) error {
	files, warnings, err := readForCluster(ctx, a, args, &opts)
	if err != nil {
		return err
	}
	if err := a.showWarnings(warnings, opts.mode, files); err != nil {
		return err
	}
	ctx, cancel, err := opts.untilOverdue(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	r := &clusterRun{app: a, words: opts.at.words()}
	targets := make([]target, len(files))
	for i, f := range files { // all of them, before the first is changed
		if targets[i], err = r.look(ctx, f, opts); err != nil {
			return err
		}
	}
	for _, t := range targets {
		answer, err := t.server.RegisterAt(ctx, t.job, t.source, *t.before.JobModifyIndex)
		if err != nil {
			return err
		}
		for _, line := range itemsOf(answer.Warnings) {
			a.warn(errors.New(line))
		}
		job := &client.Job{JobListStub: &api.JobListStub{ID: *t.job.ID, Namespace: t.server.Namespace()}, Server: t.server}
		if err := followChange(ctx, a, &cluster.Rollout{Job: job, Evaluation: answer.EvalID}, "updated", opts.mode, opts.detach || answer.EvalID == ""); err != nil {
			return err
		}
	}
	return nil
}
