package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
)

type orderOptions struct {
	connection
	mode     ui.Mode
	allTasks bool // restart
}

const orderHelp = `

Output:
  plain  a line for each
  json   one object a line for each
  quiet  nothing

Exit codes:
  0    success
  1    no task matches TARGET, or none of the matches is running
  2    the call is wrong
  125  taskrun itself failed, or the run refused`

func newRestartCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "restart TARGET...",
		Short: "Restart tasks",
		Long: `Restart every running task that TARGET matches: kill signal, grace period,
start. A restart is not a failure and does not count for the restart policy. The
command returns when the old processes have ended.

` + targetHelp + orderHelp,
		Example: `  taskrun restart web
  taskrun restart --all-tasks app[1]`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeTargets(a, &opts.connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runRestart(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	bindOrder(a, cmd, &opts)
	flags.BoolVar(&opts.allTasks, "all-tasks", false, "restart whole allocations, including tasks that have ended")
	return cmd
}

// bindOrder adds the flags of commands that tell tasks what to do.
func bindOrder(a *app, cmd *cobra.Command, opts *orderOptions) {
	opts.bind(cmd.Flags())
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	completeJobs(a, cmd, &opts.connection)
}

func runRestart(ctx context.Context, a *app, targets []string, opts orderOptions) error {
	tasks, labels, err := orderedTasks(ctx, a, targets, opts)
	if err != nil {
		return err
	}
	if !opts.allTasks {
		return carryOut(a, opts.mode, "restarted", tasks, labels, func(t *client.Task) error { return t.Restart(ctx) })
	}
	whole := client.Allocs(tasks)
	for _, t := range whole {
		labels[t] = t.Alloc.Name
	}
	return carryOut(a, opts.mode, "restarted", whole, labels, func(t *client.Task) error { return t.RestartAlloc(ctx) })
}

// orderedTasks returns the running tasks that targets stand for.
func orderedTasks(ctx context.Context, a *app, targets []string, opts orderOptions) ([]*client.Task, map[*client.Task]string, error) {
	a.jsonErrors = opts.mode == ui.JSON
	servers, err := a.servers(ctx, opts.connection)
	if err != nil {
		return nil, nil, err
	}
	if len(servers) == 0 {
		return nil, nil, noRun(exitFailed)
	}
	all, err := a.tasks(ctx, servers, opts.job)
	if err != nil {
		return nil, nil, err
	}
	labels := client.Labels(all)
	var tasks []*client.Task
	for _, target := range targets {
		found, err := client.Find(all, target)
		if err != nil {
			return nil, nil, targetError(err, all, exitFailed)
		}
		running := slices.DeleteFunc(slices.Clone(found), func(t *client.Task) bool { return !t.Running() })
		if len(running) == 0 {
			return nil, nil, &exitError{code: exitFailed, err: client.NotRunning(target, found, labels)}
		}
		for _, t := range running {
			if !slices.Contains(tasks, t) {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks, labels, nil
}

// carryOut does something with each task, and tells of those with which it
// worked, up to the first with which it did not.
func carryOut(a *app, mode ui.Mode, what string, tasks []*client.Task, labels map[*client.Task]string, do func(*client.Task) error) error {
	for _, t := range tasks {
		if err := do(t); err != nil {
			return err
		}
		if err := answer.WriteDone(answerTo(a, mode), what, []answer.Done{doneOf(t, labels)}); err != nil {
			return err
		}
	}
	return nil
}

func doneOf(t *client.Task, labels map[*client.Task]string) answer.Done {
	d := answer.Done{
		Job: t.Alloc.JobID, Group: t.Alloc.TaskGroup, Alloc: t.Alloc.Name, AllocID: t.Alloc.ID, Task: t.Name, Label: labels[t],
	}
	if d.Label == d.Alloc {
		d.Task = "" // the whole of it
	}
	return d
}
