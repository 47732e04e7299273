package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/record"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/engine/leaf/event"
)

type runsOptions struct {
	mode    ui.Mode
	dataDir string
}

func newRunsCommand(a *app) *cobra.Command {
	opts := runsOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "runs [JOB]",
		Short: "List the runs that are kept, and how they ended",
		Long: `List the runs that are kept, of all jobs or of JOB, the newest first, and how
they ended. The last five runs of each job are kept until "taskrun clean"
removes them. A run that was killed has no exit code.

"events", "logs", "trace", "diff" and "export" take a run as JOB/ID, or as the
beginning or the last part of its ID, and a job for its latest run.

Output:
  plain  a table
  json   one object a line, of type "kept_run"
  quiet  only the runs, as JOB/ID

Exit codes:
  0    success, even if no run is kept
  1    no run of JOB is kept
  2    the call is wrong
  125  the runs of some jobs cannot be listed; those of others are`,
		Example: `  taskrun runs
  taskrun runs web --output json | jq -r 'select(.exit_code!=0).run'
  taskrun events web/20260102T030405.006Z-0a1b
  taskrun logs 0a1b`,
		Args:              arguments(0, 1),
		ValidArgsFunction: inTurn(completeKept(a, &opts.dataDir, keptJobs), cobra.NoFileCompletions),
		RunE:              func(cmd *cobra.Command, args []string) error { return runRuns(cmd.Context(), a, first(args), opts) },
	}
	flags := cmd.Flags()
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runRuns(ctx context.Context, a *app, job string, opts runsOptions) error {
	runs, err := a.runs.AllRuns(ctx, opts.dataDir, job)
	switch {
	case len(runs) > 0:
	case err != nil:
		return err
	case job != "":
		return exit.Failed("no run of job %q is kept", job).WithHint("see: taskrun runs")
	case opts.mode == ui.Plain:
		fmt.Fprintln(a.Streams.Err, "no run is kept here; start one with: taskrun up FILE")
		return nil
	}
	now := time.Now()
	var list []answer.Run
	for _, r := range record.NewestFirst(runs) {
		list = append(list, keptRun(r, now))
	}
	if failure := answer.WriteRuns(a.Answer(opts.mode), list); failure != nil {
		return failure
	}
	return err
}

func keptRun(r *record.Run, now time.Time) answer.Run {
	k := answer.Run{
		Run: r.Name(), Job: event.JobName(r.Job), ID: r.ID, Began: timeOrNil(r.Began().UTC()), Status: r.Status(), Dir: r.Dir,
	}
	switch {
	case r.Err != nil:
		k.Note = r.Err.Error()
	case r.Summary != nil:
		s := r.Summary
		k.Ended, k.ExitCode, k.DurationMS, k.Reason = timeOrNil(s.Ended()), &s.ExitCode, &s.DurationMS, cmp.Or(s.Reason, s.Cause)
	case r.Live && k.Began != nil:
		k.DurationMS = new(now.Sub(*k.Began).Milliseconds())
	}
	return k
}

// completeKept completes arguments from the runs that are kept.
func completeKept(a *app, dataDir *string, words func(runs []*record.Run) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		const only = cobra.ShellCompDirectiveNoFileComp
		if a.configure(cmd) != nil {
			return nil, only
		}
		runs, _ := a.runs.AllRuns(cmd.Context(), *dataDir, "") // completion reports no errors
		return startingWith(words(record.NewestFirst(runs)), prefix), only
	}
}

func keptJobs(runs []*record.Run) (names []string) {
	for _, r := range runs {
		if name := event.JobName(r.Job); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func namesOf(runs []*record.Run) (names []string) {
	for _, r := range runs {
		names = append(names, r.Name())
	}
	return names
}

// completeRunNames completes up to a number of arguments RUN, which may also be
// jobs and files.
func completeRunNames(a *app, dataDir *string, most int) cobra.CompletionFunc {
	kept := completeKept(a, dataDir, func(runs []*record.Run) []string {
		return append(keptJobs(runs), namesOf(runs)...)
	})
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := kept(cmd, args, prefix)
		return names, cobra.ShellCompDirectiveDefault // files, too, when nothing matches
	}
}
