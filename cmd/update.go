package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

func newUpdateCommand(a *app) *cobra.Command {
	opts := upOptions{mode: ui.Plain, update: true}
	cmd := &cobra.Command{
		Use:   "update [FILE...]",
		Short: "Update running jobs to match their files",
		Long: `Register the job of each file as the newest version of the running job of that
name, and wait for its deployment. "taskrun plan" shows the steps beforehand.
Nothing changes unless all files are valid and all their jobs are running.

` + fileHelp + `

The stubs file is only used to check the job files. The run continues to use the
stubs file that it was started with.` + fmt.Sprintf(changeHelp, "updated") + `
  124  --timeout passed; the deployment continues`,
		Example: `  taskrun update web.nomad.hcl
  taskrun update --detach --var count=3 web.nomad.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.startReports(a, "taskrun update"); err != nil {
				return err
			}
			remote, err := opts.at.Remote(machineFlags...)
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
	opts.bindNeighbors(flags)
	opts.bindTimeout(flags)
	opts.at.BindCluster(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindNoWait(flags, &opts.detach)
	bindReport(cmd, &opts.report)
	return cmd
}

// updateHere registers the jobs of files as new versions of jobs that run on
// this machine, and waits for their deployments.
func updateHere(ctx context.Context, a *app, args []string, opts upOptions) error {
	dataDir, err := a.runs.DataDir(opts.dataDir)
	if err != nil {
		return err
	}
	opts.at.DataDir = opts.dataDir // empty: all
	files, warnings, err := readToRun(ctx, a, args, &opts, dataDir, nil)
	if err != nil {
		return err
	}
	return updateJobs(ctx, a, files, warnings, opts, func(ctx context.Context) (registered []registration, err error) {
		for _, f := range files {
			job, err := a.runs.RunningVersion(ctx, opts.at, f.Job)
			if err != nil {
				return nil, err
			}
			registered = append(registered, registration{job, func(ctx context.Context) (string, []string, error) {
				evaluation, err := job.Register(ctx, f.Job, f.Source)
				return evaluation, nil, err
			}})
		}
		return registered, nil
	})
}

// updateCluster is like updateHere, for jobs in a Nomad cluster.
func updateCluster(ctx context.Context, a *app, args []string, opts upOptions) error {
	files, warnings, err := readForCluster(ctx, a, args, opts)
	if err != nil {
		return err
	}
	return updateJobs(ctx, a, files, warnings, opts, func(ctx context.Context) (registered []registration, err error) {
		jobs, err := lookUpAll(ctx, a, files, opts)
		for _, j := range jobs {
			registered = append(registered, registration{
				&client.Job{JobListStub: &api.JobListStub{ID: *j.job.ID, Namespace: j.server.Namespace()}, Server: j.server}, j.register,
			})
		}
		return registered, err
	})
}

type registration struct {
	job      *client.Job
	register func(ctx context.Context) (evaluation string, warnings []string, err error)
}

// updateJobs registers the jobs of files and waits for their deployments. It
// looks all of them up before it changes the first.
func updateJobs(ctx context.Context, a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, find func(context.Context) ([]registration, error)) error {
	if err := a.ShowDiagnostics(console.Format(opts.mode), files, warnings); err != nil {
		return err
	}
	if opts.timeout < 0 {
		return exit.Usage("cannot use a negative timeout: %v", opts.timeout)
	}
	if opts.timeout > 0 {
		late := &exit.Error{Code: verdict.Timeout, Err: fmt.Errorf("the timeout of %v has passed; the deployment continues", opts.timeout)}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, late)
		defer cancel()
	}
	found, err := find(ctx)
	if err != nil {
		return err
	}
	for _, r := range found {
		evaluation, warnings, err := r.register(ctx)
		if err != nil {
			return err
		}
		for _, line := range warnings {
			a.Warn(errors.New(line))
		}
		if err := followChange(ctx, a, &cluster.Rollout{Job: r.job, Evaluation: evaluation}, "updated", opts.mode, opts.detach); err != nil {
			return err
		}
	}
	return nil
}
