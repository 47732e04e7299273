package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
)

func newPromoteCommand(a *app) *cobra.Command {
	opts := changeOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "promote JOB [GROUP...]",
		Short: "Promote the canaries of a job",
		Long: `Promote the canaries of a job, which must be healthy: they stay, and the other
allocations are replaced as the update block says. With GROUP, promote only the
canaries of these groups. The command waits for the end of the deployment.` + fmt.Sprintf(changeHelp, "promoted"),
		Example:           `  taskrun promote web`,
		Args:              arguments(1, anyNumber),
		ValidArgsFunction: completeGroups(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPromote(cmd.Context(), a, args[0], args[1:], opts)
		},
	}
	bindChange(cmd, &opts)
	return cmd
}

func runPromote(ctx context.Context, a *app, id string, groups []string, opts changeOptions) error {
	job, err := a.runs.RunningJob(ctx, opts.Connection, id)
	if err != nil {
		return err
	}
	if len(groups) > 0 { // Nomad ignores those that the job does not have
		known, err := job.Groups(ctx)
		if err != nil {
			return err
		}
		for _, group := range groups {
			if _, ok := known[group]; !ok {
				return noGroup(job, group, slices.Sorted(maps.Keys(known)))
			}
		}
	}
	d, err := job.Deployment(ctx)
	switch {
	case err != nil:
		return err
	case d == nil:
		return exit.Failed("job %q has no deployment", job.Name())
	}
	if err := job.Promote(ctx, d.ID, groups); err != nil {
		return err
	}
	return followChange(ctx, a, &cluster.Rollout{Job: job, Deployment: d.ID}, "promoted", opts.mode, opts.detach)
}
