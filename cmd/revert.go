package cmd

import (
	"context"
	"fmt"
	"strconv"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
)

func newRevertCommand(a *app) *cobra.Command {
	opts := changeOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "revert JOB [VERSION]",
		Short: "Go back to an earlier version of a job",
		Long: `Make an earlier version of a running job the newest one again. Without VERSION
it is the latest earlier version whose deployment was successful. taskrun keeps
the last six versions, and the last successful one. The command waits for the
end of the deployment.` + fmt.Sprintf(changeHelp, "reverted"),
		Example: `  taskrun revert web
  taskrun revert web 3`,
		Args:              arguments(1, 2),
		ValidArgsFunction: completeJob(a, &opts.Connection, anyJob),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRevert(cmd.Context(), a, args, opts)
		},
	}
	bindChange(cmd, &opts)
	return cmd
}

func runRevert(ctx context.Context, a *app, args []string, opts changeOptions) error {
	var number *uint64
	if len(args) == 2 {
		n, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return exit.Usage("cannot revert to %q: it is not a version number", args[1])
		}
		number = &n
	}
	job, err := a.runs.RunningJob(ctx, opts.Connection, args[0])
	if err != nil {
		return err
	}
	if number == nil {
		versions, err := job.Versions(ctx)
		if err != nil {
			return err
		}
		if number = lastGood(versions); number == nil {
			return exit.Failed("job %q has no earlier version whose deployment was successful", job.Name()).WithHint("name a version, of 0 to %d", *versions[0].Version)
		}
	}
	evaluation, err := job.Revert(ctx, *number)
	if err != nil {
		return err
	}
	return followChange(ctx, a, &cluster.Rollout{Job: job, Evaluation: evaluation}, "reverted", opts.mode, opts.detach)
}

// lastGood returns the latest earlier one of versions, the newest first, that was
// deployed successfully, or nil. A Nomad server also takes the version of a stop for
// stable.
func lastGood(versions []*api.Job) *uint64 {
	for _, v := range versions[1:] {
		if v.Stable != nil && *v.Stable && (v.Stop == nil || !*v.Stop) {
			return v.Version
		}
	}
	return nil
}
