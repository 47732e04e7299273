package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/ui"
)

func newUpCommand(a *app) *cobra.Command {
	opts := upOptions{mode: ui.Plain, time: ui.TimeClock}
	cmd := &cobra.Command{
		Use:     "up [FILE...]",
		Aliases: []string{"run"},
		Short:   "Run job files and show what happens",
		Long: `Run job files on this machine and show what happens, until all their
allocations have ended. The output of tasks goes to stdout, everything else to
stderr. Ctrl-C stops the run as Nomad would; a second Ctrl-C kills it.

With --detach the jobs run in the background: "taskrun attach" shows the run,
"taskrun stop" stops it. The run continues where it was if taskrun itself dies.

With --ui the jobs run in the background, and the full screen shows them (see
"taskrun ui"). Leaving the screen asks whether to stop the run or to leave it in
the background. SIGTERM and SIGHUP stop it; with --address or --agent, they
leave the jobs running.

` + fileHelp + `

Output:
  plain  lines for people: time, task, output; at the end a table
  json   one object per line, all on stdout, from "run" to "summary"
  quiet  only the output of tasks (with several tasks each line is prefixed with
         its task), and what failed

In a run with more than 20 tasks, the plain output counts the steps that many
tasks share: of a step that more than three tasks or allocations take within a
second, a line says how many more took it. Failures and restarts always have
lines of their own, at once; --verbose shows everything. The rule is the same on
a terminal, in a pipe and in the log of a CI system.

On a terminal, a last line sums up a run with several tasks that has taken a
second: how many tasks run, start, have ended and have failed, and since when.
It gives way to everything else, and never enters a pipe or a file.

` + showHelp + `

With --no-restart taskrun does not restart a task that fails, and does not
reschedule its allocation: a batch job that exits with 9 fails at once. The flag
changes the jobs of the files before they start. It cannot be combined with
--address: in a cluster the job file decides.

With --repeat the jobs run several times, one run after the other. A line says
how each run ended; the output of tasks is shown for the first run that failed,
or for all with --verbose. At the end taskrun shows how many runs ended in which
way, how long the tasks of passing runs took, and how the first run that failed
differs from one that passed. With --until-fail it stops there. The exit code is
that of the first run that failed. With --output json the objects of each run
are followed by one of type "repeat". Ctrl-C stops the current run and shows the
result so far.

With --address taskrun registers the jobs in a Nomad cluster and shows them in
the same way. Ctrl-C asks whether to stop the jobs or leave them running, and a
second Ctrl-C leaves them; without a terminal any signal leaves them running.
--timeout, --until and --fail-fast stop the jobs. With --detach they do not:
--until says what --wait waits for, and --timeout how long it waits.

With --agent the jobs run in the agent of the data directory (see "taskrun help
agent"), and continue when taskrun has left them, as with --address. Drivers,
stubs and limits are those of the agent.

Other users of the machine cannot enter the directory of an allocation. When
root runs taskrun, an ACL lets the users of its tasks in, and each task's own
directory is open only to its user. taskrun refuses a data directory that
another user could replace.

Exit codes:
  0    all allocations are complete, or the condition of --until is met
  1    a task or an allocation failed
  2    a job file or the call is wrong; nothing was started
  3    a job is running already; nothing was started
  124  --timeout passed
  125  taskrun itself failed
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM
  141  stdout was closed
In a cluster the last two lines mean that the jobs were left running, unless you
chose to stop them.
A failure beats 124, 129, 130 and 143. An allocation whose replacement
completed does not count as failed.`,
		Example: `  taskrun up job.nomad.hcl
  taskrun up --until running=30s --timeout 5m --output json job.nomad.hcl
  taskrun up --detach --wait web.nomad.hcl
  taskrun up --repeat 50 --until-fail tests.nomad.hcl
  taskrun up --exit-code-from tests --driver docker=mock_driver job.nomad.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ownData = opts.rehearse && !cmd.Flags().Changed("data-dir")
			return runUp(cmd.Context(), a, args, opts)
		},
	}
	flags := cmd.Flags()
	opts.jobOptions.bind(flags)
	opts.bindEngine(flags)
	opts.bindStubs(flags)
	opts.bindStrict(flags)
	opts.at.BindCluster(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindTime(cmd, &opts.time)
	bindVerbose(flags, &opts.verbose)
	opts.shown.bind(cmd)
	bindReports(cmd, &opts.report)
	flags.StringVar(&opts.http, "http", "", "also serve Nomad's HTTP API at this `address`, such as 127.0.0.1:4646; requires the printed token")
	flags.BoolVar(&opts.agent, "agent", false, "run the jobs in the agent of the data directory; see: taskrun agent")
	flags.BoolVar(&opts.noRestart, "no-restart", false, "never restart or reschedule failed tasks")
	flags.BoolVarP(&opts.detach, "detach", "d", false, "run in the background; return once the run has started")
	flags.BoolVar(&opts.ui, "ui", false, "show the run on the full screen; see: taskrun ui")
	flags.BoolVarP(&opts.watch, "watch", "w", false, "follow changes of the files; see: taskrun help watch")
	flags.BoolVar(&opts.wait, "wait", false, "with --detach: return once every deployment is healthy, or every task has run for 10s")
	// Old spellings of the commands rehearse and update.
	flags.BoolVar(&opts.rehearse, "rehearse", false, "dry run: do everything except start tasks; see: taskrun rehearse")
	flags.UintVar(&opts.repeat, "repeat", 0, "run the jobs this many times, and show how the runs differ")
	flags.BoolVar(&opts.untilFail, "until-fail", false, "run the jobs again until a run fails, at most --repeat times")
	opts.bindOffline(flags)
	flags.BoolVar(&opts.update, "update", false, "change the jobs where they run; see: taskrun update")
	hide(flags, "rehearse", "offline", "update")
	completeFromFiles(a, cmd, "exit-code-from", opts.jobOptions, codeFromNames)
	completeFromFiles(a, cmd, "task", opts.jobOptions, codeFromNames)
	completeFromFiles(a, cmd, "group", opts.jobOptions, groupNames)
	complete(cmd, "until", "running", "running=10s", "healthy")
	return cmd
}

func runUp(ctx context.Context, a *app, args []string, opts upOptions) error {
	garbage.CollectRarely()
	if err := opts.startReports(a, "taskrun up"); err != nil {
		return err
	}
	remote, err := opts.at.Remote(machineFlags...)
	if err == nil {
		err = opts.checkUI()
	}
	switch {
	case err != nil:
		return err
	case opts.watch && (remote || opts.agent):
		return exit.Usage("--watch cannot be combined with --address or --agent: it follows the files of a run on this machine")
	case opts.watch && opts.repeats():
		return exit.Usage("--watch cannot be combined with --repeat or --until-fail")
	case opts.agent:
		return upAgent(ctx, a, args, opts, remote)
	case remote && opts.repeats():
		return exit.Usage("--repeat and --until-fail cannot be combined with --address: a cluster keeps the job between its runs")
	case remote:
		return upCluster(ctx, a, args, opts)
	case opts.repeats():
		return upRepeatedly(ctx, a, args, opts)
	case opts.update:
		if err := opts.checkHere(); err != nil {
			return err
		}
		return updateHere(ctx, a, args, opts)
	}
	return upHere(ctx, a, args, opts)
}
