package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/textfile"
	"taskrun/cmd/ui"
)

func newStartCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "start TARGET...",
		Short: "Start tasks that were stopped alone",
		Long: `Start every task that TARGET matches and that "taskrun stop TASK" has stopped.
The command does not wait until they run. To run a job file, use "taskrun up".

` + lookup.TargetHelp + strings.Replace(orderHelp, "none of the matches is running", "none of the matches was stopped", 1),
		Example: `  taskrun start web/server
  taskrun start 'app[1]'`,
		Args:              arguments(1, anyNumber),
		ValidArgsFunction: completeNames(a, &opts.Connection, haltedTasks),
		RunE:              func(cmd *cobra.Command, args []string) error { return runStart(cmd.Context(), a, args, opts) },
	}
	bindOrder(a, cmd, &opts)
	return cmd
}

func runStart(ctx context.Context, a *app, targets []string, opts orderOptions) error {
	o, err := newOrderFor(ctx, a, targets, opts, (*client.Task).Halted, notHalted)
	if e, ok := errors.AsType[*exit.Error](err); ok {
		if i := slices.IndexFunc(targets, textfile.IsRegular); i >= 0 {
			return e.WithHint("to run a job file: taskrun up %s", targets[i])
		}
	}
	if err != nil {
		return err
	}
	return o.carryOut("started", "", func(t *client.Task) error { return t.Start(ctx) })
}

// notHalted returns the error of a target whose tasks were not stopped.
func notHalted(target string, found []*client.Task, labels map[*client.Task]string) error {
	if len(found) > 1 {
		return fmt.Errorf("%q matches %d tasks; none was stopped", target, len(found))
	}
	switch t := found[0]; {
	case t.Running():
		return fmt.Errorf("task %q is running already", labels[t])
	case t.State.State == "dead":
		return fmt.Errorf("%w: only its whole allocation can start again, with restart --all-tasks", client.NotRunning(target, found, labels))
	default:
		return client.NotRunning(target, found, labels)
	}
}

// haltedTasks returns the labels of stopped tasks for completion.
func haltedTasks(tasks []*client.Task, _ string) (names []string) {
	labels := client.Labels(tasks)
	for _, t := range tasks {
		if t.Halted() {
			names = append(names, labels[t])
		}
	}
	return names
}
