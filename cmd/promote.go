package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
)

func (a *app) promoteCommand() *cobra.Command {
	opts := changeOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "promote JOB [GROUP...]",
		Short: "Promote the canaries of a job",
		Long: `Promote the canaries of a job, which must be healthy: they stay, and the other
allocations are replaced as the update block says. With GROUP, promote only the
canaries of these groups. The command waits for the end of the deployment.` + fmt.Sprintf(changeHelp, "promoted"),
		Example:           `  taskrun promote web`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeChange(&opts.connection, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.promote(cmd.Context(), args[0], args[1:], opts)
		},
	}
	a.bindChange(cmd, &opts)
	return cmd
}

func (a *app) promote(ctx context.Context, id string, groups []string, opts changeOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	job, err := a.runningJob(ctx, id, opts.connection)
	if err != nil {
		return err
	}
	d, err := job.Deployment(ctx)
	switch {
	case err != nil:
		return err
	case d == nil:
		return &exitError{code: exitFailed, err: fmt.Errorf("job %q has no deployment", id)}
	}
	if err := job.Promote(ctx, d.ID, groups); err != nil {
		return err
	}
	return a.changed(ctx, job, "promoted", client.Begun{Deployment: d.ID}, opts.mode, opts.detach)
}
