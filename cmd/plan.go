package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/lookup"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

type planOptions struct {
	lookup.Connection
	jobOptions
	mode ui.Mode
}

func newPlanCommand(a *app) *cobra.Command {
	opts := planOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Show what an update of a running job would do",
		Long: `Show how a job file differs from the running job of that name, and what an
update would do to its allocations: create them, destroy them, replace them
(create/destroy update), change them while they run (in-place update), or leave
them alone. Nothing changes.

The numbers of a group are those of the first step. The rollout below shows all
steps in their order: canaries and their promotion, then the other allocations,
max_parallel at a time. It assumes that every allocation becomes healthy. System
jobs of a cluster have none: their nodes are not known here.

` + fileHelp + `

With --address the job is one of a Nomad cluster, where it may also be new.
NOMAD_* variables are ignored.

Output:
  plain  a line for each difference, then the rollout
  json   one object of type "plan"
  quiet  nothing

Exit codes, as those of "nomad job plan":
  0    no allocation would be created or destroyed
  1    some would
  2    the job file or the call is wrong
  125  the job is not running, or taskrun itself failed`,
		Example: `  taskrun plan job.nomad.hcl
  taskrun plan --output json | jq .groups`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPlan(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	opts.jobOptions.bind(flags)
	opts.bindStubs(flags)
	opts.bindMaxAllocs(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	return cmd
}

func runPlan(ctx context.Context, a *app, args []string, opts planOptions) error {
	entry := preflight.Plan
	remote, err := opts.Remote("max-allocs", "stubs", "local")
	if err != nil {
		return err
	}
	if remote {
		entry = preflight.Cluster
		opts.maxAllocs, opts.Stubbed = 0, false // a cluster has its own limit and needs no stubs
	}
	files, diagnostics, err := a.readChecked(ctx, entry, args, opts.jobOptions, machineOptions{})
	if err != nil {
		return err
	}
	if err := a.Refuse(files, diagnostics, opts.mode); err != nil {
		return err
	}
	server, err := serverFor(ctx, a, files[0], opts, remote)
	if err != nil {
		return err
	}
	plan, err := server.Plan(ctx, files[0].Job)
	if err != nil {
		return err
	}
	rollout, err := rolloutOf(ctx, server, files[0].Job, plan)
	if err != nil {
		return err
	}
	for _, line := range cluster.Unplaced(*files[0].Job.ID, plan.FailedTGAllocs) {
		a.Warn(errors.New(line))
	}
	if err := answer.WritePlan(a.Answer(opts.mode), plan, rollout); err != nil {
		return err
	}
	if moves(plan.Annotations) {
		return exit.Silent(verdict.Failed)
	}
	return nil
}

// serverFor returns the run of a file's job, or the cluster, which need not
// know the job yet.
func serverFor(ctx context.Context, a *app, f jobfile.File, opts planOptions, remote bool) (*client.Server, error) {
	if remote {
		return opts.ServerOf(f.Job)
	}
	servers, err := a.runs.LocalServers(ctx, opts.DataDir)
	if err != nil {
		return nil, err
	}
	running, err := a.runs.Jobs(ctx, servers)
	if err != nil {
		return nil, err
	}
	name := event.JobName(event.JobKey(*f.Job.Namespace, *f.Job.ID))
	job, err := lookup.OneJob(running, name, func(j *client.Job) bool { return j.Is(f.Job) })
	switch {
	case err != nil && slices.ContainsFunc(running, func(j client.Job) bool { return j.Is(f.Job) }):
		return nil, err // several runs match
	case err != nil:
		return nil, (&exit.Error{Code: verdict.Internal, Err: fmt.Errorf("job %q is not running %s", name, lookup.PlaceOf(opts.DataDir))}).
			WithHint("start it with: taskrun up %s", f.Name)
	}
	s, _ := job.Server.Of(job.Key())
	return s, nil
}

// moves reports whether the plan creates or destroys allocations.
func moves(a *api.PlanAnnotations) bool {
	for _, g := range a.DesiredTGUpdates {
		if g.Place+g.Stop+g.Migrate+g.DestructiveUpdate+g.Canary > 0 {
			return true
		}
	}
	return false
}
