package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

func newLogsCommand(a *app) *cobra.Command {
	opts := logsOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "logs [RUN] [TARGET...]",
		Short: "Show the output of tasks",
		Long: `Show the output of the tasks that TARGET matches, or of all tasks, on stdout.
The output of a single task is shown as it is. With several tasks, each line is
prefixed with its task, as "taskrun up" shows it. The stdout of a task comes
before its stderr, unless --follow shows both as they come. For a job that is
not running, show its latest run. With RUN, show only its tasks: it is a run as
"taskrun runs" lists it, or a file that "taskrun export" wrote.

` + lookup.TargetHelp + `

--task and --group select tasks among the TARGETs. They may be repeated and
combined. With --prefix none, lines of several tasks have no prefix either; with
task or alloc, lines of a single task have one.

With --address, --follow continues until Ctrl-C.

The time of a line is when taskrun read it from the task. Nomad keeps no times,
so --since cannot be used in a cluster. There, --timestamps requires --follow
and shows when each line arrived.

Output:
  plain  lines as the tasks wrote them
  json   one object of type "log" per line, as "taskrun up" writes them
  quiet  lines without the names of their tasks

Exit codes:
  0    success; with --follow, the run has ended
  1    no task matches TARGET, or there is no run
  2    the call is wrong
  125  taskrun itself failed, or the run was killed
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun logs web
  taskrun logs -f --tail 10 web db
  taskrun logs -t --since 5m web
  taskrun logs --stderr 'app[1]/web' | grep ERROR
  taskrun logs web.zip db`,
		ValidArgsFunction: completeTargets(a, &opts.Connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runLogs(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	opts.Bind(flags)
	flags.BoolVarP(&opts.follow, "follow", "f", false, "continue with new output until the run ends")
	flags.IntVarP(&opts.tail, "tail", "n", -1, "show the last `lines` of each stream; negative: all")
	flags.Var(pastTime{&opts.since}, "since", "show lines since a `time`: 5m ago, or RFC 3339")
	flags.BoolVarP(&opts.timestamps, "timestamps", "t", false, "show the time of each line")
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.BoolVarP(&opts.all, "all", "a", false, "in a cluster: also show allocations that were replaced")
	flags.BoolVar(&opts.stdout, "stdout", false, "show only stdout")
	flags.BoolVar(&opts.stderr, "stderr", false, "show only stderr")
	opts.shown.bind(cmd)
	completeFilters(a, cmd, &opts.Connection)
	return cmd
}

func runLogs(ctx context.Context, a *app, targets []string, opts logsOptions) error {
	if err := opts.checkTimes(); err != nil {
		return err
	}
	a.GuardInWorkflow(opts.mode)
	if opts.Cluster.Address == "" && lookup.IsPath(first(targets)) {
		return logsOfRun(ctx, a, targets, opts)
	}
	servers, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return err
	}
	live := true
	selected, err := client.Select(all, targets)
	if (err != nil || len(all) == 0) && opts.Cluster.Address == "" {
		kept, among, runs, failure := a.runs.EndedTasks(ctx, opts.DataDir, opts.Job, targets)
		unknown := &client.UnknownError{}
		switch {
		case failure == nil && len(runs) > 0:
			all, selected, live, err = kept, among, false, nil
		case failure != nil && !errors.As(failure, &unknown):
			return failure
		case a.runs.NamesRun(ctx, first(targets), opts.DataDir):
			return logsOfRun(ctx, a, targets, opts)
		case len(servers) == 0 && len(targets) > 0:
			return exit.Failed("no task and no run that is kept matches %q", targets[0]).WithHint("see: taskrun runs")
		case len(servers) == 0:
			return lookup.NoRun(verdict.Failed, opts.DataDir)
		}
	}
	if err != nil {
		return lookup.TargetError(err, all, verdict.Failed)
	}
	if !live {
		servers = nil
	}
	l := &logsSession{a: a, opts: opts, targets: targets, selected: selected}
	return l.run(ctx, servers, all)
}

// logsOfRun shows the output of tasks of the run that the first argument names.
func logsOfRun(ctx context.Context, a *app, args []string, opts logsOptions) error {
	r, err := a.runs.OpenRun(ctx, args[0], opts.DataDir)
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := r.Tasks()
	a.runs.WarnOf(r.Run)
	if err != nil {
		return err
	}
	selected, err := client.Select(all, args[1:])
	if err != nil {
		return lookup.TargetError(err, all, verdict.Failed)
	}
	var servers []*client.Server
	if r.Engine != nil {
		servers = append(servers, r.Engine.Server)
	}
	l := &logsSession{a: a, opts: opts, targets: args[1:], selected: selected, ofRun: r.Job}
	return l.run(ctx, servers, all)
}
