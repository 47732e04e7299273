package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/drivers"
)

func newSignalCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "signal TARGET SIGNAL",
		Short: "Send a signal to tasks",
		Long: `Send a signal to every running task that TARGET matches. SIGNAL is a name such
as SIGHUP, hup or USR1.

` + lookup.TargetHelp + orderHelp,
		Example: `  taskrun signal web SIGHUP
  taskrun signal 'app[1]/web' usr1`,
		Args:              arguments(2, 2),
		ValidArgsFunction: inTurn(completeTargets(a, &opts.Connection), cobra.FixedCompletions(drivers.SignalNames(), cobra.ShellCompDirectiveNoFileComp)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSignal(cmd.Context(), a, args[0], args[1], opts)
		},
	}
	bindOrder(a, cmd, &opts)
	return cmd
}

func runSignal(ctx context.Context, a *app, target, name string, opts orderOptions) error {
	signal, err := lookup.Signal(name)
	if err != nil {
		return err
	}
	o, err := newOrder(ctx, a, []string{target}, opts)
	if err != nil {
		return err
	}
	return o.carryOut("signalled", signal, func(t *client.Task) error { return t.Signal(ctx, signal) })
}
