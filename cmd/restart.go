package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
)

type restartOptions struct {
	orderOptions
	allTasks bool
}

func newRestartCommand(a *app) *cobra.Command {
	opts := restartOptions{orderOptions: orderOptions{mode: ui.Plain}}
	cmd := &cobra.Command{
		Use:   "restart TARGET...",
		Short: "Restart tasks",
		Long: `Restart every running task that TARGET matches: kill signal, grace period,
start. A restart is not a failure and does not count for the restart policy. The
command returns when the old processes have ended.

` + lookup.TargetHelp + orderHelp,
		Example: `  taskrun restart web
  taskrun restart --all-tasks 'app[1]'`,
		Args:              arguments(1, anyNumber),
		ValidArgsFunction: completeTargets(a, &opts.Connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runRestart(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	bindOrder(a, cmd, &opts.orderOptions)
	flags.BoolVar(&opts.allTasks, "all-tasks", false, "restart whole allocations, including tasks that have ended")
	return cmd
}

func runRestart(ctx context.Context, a *app, targets []string, opts restartOptions) error {
	o, err := newOrder(ctx, a, targets, opts.orderOptions)
	if err != nil {
		return err
	}
	if !opts.allTasks {
		return o.carryOut("restarted", "", func(t *client.Task) error { return t.Restart(ctx) })
	}
	o.tasks = client.Allocs(o.tasks)
	for _, t := range o.tasks {
		o.labels[t] = t.Alloc.Name
	}
	return o.carryOut("restarted", "", func(t *client.Task) error { return t.RestartAlloc(ctx) })
}
