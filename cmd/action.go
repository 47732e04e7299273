package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
)

func newActionCommand(a *app) *cobra.Command {
	opts := execOptions{escape: '~'}
	mode := ui.Plain
	cmd := &cobra.Command{
		Use:   "action [-i] [-t] [TARGET [ACTION]]",
		Short: "Run an action of a job in a running task, or list the actions",
		Long: `Run an action: the command that an action block of the job file defines for a
task. It runs in the running task, as with "taskrun exec". Without ACTION, list
the actions of the tasks that TARGET matches, or of all tasks.

` + lookup.TargetHelp + `
With --job, TARGET may be left out if exactly one task of the job is running.

Output of the list:
  plain  a table
  json   one object per line for each action
  quiet  only the names of the task and the action

Exit codes are those of "taskrun exec". Those of the list are:
  0  success, even if there is no action
  1  no task matches TARGET
  2  the call is wrong`,
		Example: `  taskrun action
  taskrun action web migrate`,
		Args:              arguments(0, 2),
		ValidArgsFunction: completeAction(a, &opts),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, action := "", ""
			if len(args) > 0 && opts.Job == "" {
				target, args = args[0], args[1:]
			}
			if len(args) > 0 {
				action, args = args[0], args[1:]
			}
			switch {
			case len(args) > 0:
				return exit.Usage("cannot run two actions").WithHint("leave out TARGET or --job")
			case action == "":
				return listActions(cmd.Context(), a, target, opts, mode)
			}
			return runAction(cmd.Context(), a, target, action, opts)
		},
	}
	flags := cmd.Flags()
	opts.bindSession(flags)
	bindOutput(cmd, &mode, "of the list: plain, json or quiet")
	completeFilters(a, cmd, &opts.Connection)
	return cmd
}

func runAction(ctx context.Context, a *app, target, name string, opts execOptions) error {
	garbage.CollectRarely()
	task, err := pickTask(ctx, a, target, opts)
	if err != nil {
		return err
	}
	known, err := client.Actions(ctx, []*client.Task{task})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(known, func(k client.Action) bool { return k.Name == name }) {
		unknown := &exit.Error{Code: verdict.Internal, Err: fmt.Errorf("task %q has no action %q", task.Name, name)}
		if len(known) == 0 {
			return unknown.WithHint("see: taskrun action")
		}
		return unknown.WithHint("it has: %s", strings.Join(client.ActionNames(known), ", "))
	}
	return newSession(a, task, opts, client.Session{Action: name}).run(ctx)
}

func listActions(ctx context.Context, a *app, target string, opts execOptions, mode ui.Mode) error {
	_, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return err
	}
	tasks := opts.indexed(all)
	for _, target := range []string{target, opts.task} {
		if target == "" {
			continue
		}
		if tasks, err = client.Find(tasks, target); err != nil {
			return opts.targetError(err, all, verdict.Failed)
		}
	}
	tasks = slices.DeleteFunc(slices.Clone(tasks), (*client.Task).Replaced)
	found, err := client.Actions(ctx, tasks)
	if err != nil {
		return err
	}
	labels := client.Labels(all)
	var list []answer.Action
	for _, f := range found {
		list = append(list, answer.Action{
			Origin: originOf(f.Task), Target: labels[f.Task], Action: f.Name, Command: append([]string{f.Command}, f.Args...),
		})
	}
	if len(list) == 0 && mode == ui.Plain {
		fmt.Fprintln(a.Streams.Err, "no running task has an action")
		return nil
	}
	return answer.WriteActions(a.Answer(mode), list)
}

// completeAction completes TARGET and then the actions of its tasks.
func completeAction(a *app, opts *execOptions) cobra.CompletionFunc {
	targets := completeTargets(a, &opts.Connection)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 && opts.Job == "" {
			return targets(cmd, args, prefix)
		}
		return completeNames(a, &opts.Connection, func(tasks []*client.Task, _ string) []string {
			if len(args) > 0 {
				tasks, _ = client.Find(tasks, args[0])
			}
			known, _ := client.Actions(cmd.Context(), tasks)
			names := client.ActionNames(known)
			slices.Sort(names)
			return slices.Compact(names)
		})(cmd, args, prefix)
	}
}
