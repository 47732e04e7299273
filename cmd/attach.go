package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/cluster"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/record"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

type attachOptions struct {
	lookup.Connection
	mode    ui.Mode
	time    ui.TimeFormat
	verbose bool
	shown   shownTasks
	history bool
}

func newAttachCommand(a *app) *cobra.Command {
	opts := attachOptions{mode: ui.Plain, time: ui.TimeClock}
	cmd := &cobra.Command{
		Use:   "attach [JOB]",
		Short: "Show a run in the background as if it were in the foreground",
		Long: `Show a run as "taskrun up" shows it in the foreground, until it ends. The
command shows what happens from now on and, with --history, everything since the
run began. JOB may be left out if there is only one run. Ctrl-C detaches; the
run continues. To stop it, use "taskrun stop".

` + showHelp + `

With --address, show a job of a Nomad cluster. JOB is required then.

Output:
  plain  lines for people: time, task, output; at the end a table
  json   one object per line, as "taskrun up" writes them, always with the whole
         history
  quiet  only the output of tasks, and what failed

Exit codes:
  those of the run, see "taskrun up --help"
  1    there is no such run
  2    the call is wrong
  125  taskrun itself failed, or the run was killed
  129, 130, 143  detached by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed; the run continues`,
		Example: `  taskrun attach
  taskrun attach --history --output json web`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeRuns(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAttach(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindTime(cmd, &opts.time)
	bindVerbose(flags, &opts.verbose)
	flags.BoolVar(&opts.history, "history", false, "show everything since the run began")
	opts.shown.bind(cmd)
	completeFilters(a, cmd, &opts.Connection)
	return cmd
}

func runAttach(ctx context.Context, a *app, job string, opts attachOptions) error {
	a.GuardInWorkflow(opts.mode)
	remote, err := opts.Remote()
	switch {
	case err != nil:
		return err
	case remote:
		return attachCluster(ctx, a, job, opts)
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	code, err := attachHere(ctx, a, job, opts)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	return exit.Silent(code)
}

// attachHere shows a run of this machine until it ends, and returns its exit code.
func attachHere(ctx context.Context, a *app, job string, opts attachOptions) (code int, err error) {
	d, err := a.runs.FindRun(ctx, job, opts.DataDir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	if err := lookup.OneOfAgent(d, job); err != nil {
		return 0, err
	}
	jobs, err := d.Jobs(ctx)
	if err != nil {
		return 0, err
	}
	if err := opts.shown.check(jobs); err != nil {
		return 0, err
	}
	began, err := d.Began() // perhaps under an earlier engine
	if err != nil {
		return 0, err
	}
	if submitted := time.Unix(0, *jobs[0].SubmitTime); submitted.Before(began) {
		began = submitted
	}
	options := view.Options{
		Mode: opts.mode, Color: a.Color, Time: opts.time, Verbose: opts.verbose, Jobs: jobs, Begin: began,
		Version: d.Self.Version, DataDir: d.Self.DataDir, Socket: d.Server.Socket, PID: d.Self.PID,
		Prefix: opts.shown.prefix, Shows: opts.shown.filter(jobs),
	}
	if !opts.history && opts.mode != ui.JSON {
		if options.Past, err = d.Past(ctx); err != nil {
			return 0, err
		}
		options.Said = soFar(options.Past, jobs, time.Since(began))
	}
	display := view.New(a.Streams, options)
	loop := outside(d, display, true)
	v := verdict.New(verdict.Policy{Outlives: true}, jobs, options.Past...)
	loop.Decider = v
	if err := follow(ctx, loop); err != nil {
		a.goesOn(ctx, d)
		return 0, err
	}
	if d.Self.Agent { // which writes no summaries
		display.End(enginerun.ResultOf(v))
		return v.Code(), nil
	}
	summary, err := record.Read(d.Self.Runs[d.IDs[0]])
	if err != nil {
		return 0, err
	}
	display.End(view.Result{ExitCode: summary.ExitCode, Cause: summary.Cause, User: summary.User, Time: summary.Ended()})
	return summary.ExitCode, nil
}

// attachCluster shows a job of a cluster until the job has ended.
func attachCluster(ctx context.Context, a *app, id string, opts attachOptions) error {
	asking, stop := a.Stoppable(ctx)
	t, err := findClusterJob(asking, a, opts.Connection, id)
	if err == nil && !t.runs() {
		err = exit.Failed("job %q is not running in %v", id, t.server).WithHint("see what it did with: taskrun events%s %s", opts.Words(), id)
	}
	r := &clusterRun{a: a, at: opts.Connection, alone: true, jobs: []clusterJob{t}}
	options := view.Options{Mode: opts.mode, Color: a.Color, Time: opts.time, Verbose: opts.verbose, Prefix: opts.shown.prefix}
	if err == nil {
		err = opts.shown.check(r.apiJobs())
	}
	var past []event.Event
	if err == nil {
		options.Shows = opts.shown.filter(r.apiJobs())
		options.Begin = time.Unix(0, *t.job.SubmitTime)
		r.run = cluster.New([]cluster.Job{{Job: t.job, Server: t.server}})
		if !opts.history && opts.mode != ui.JSON {
			past, err = r.run.Past(asking)
			options.Said = soFar(past, r.apiJobs(), time.Since(options.Begin))
		}
	}
	stop()
	if err != nil {
		return exit.Stopped(asking, err)
	}
	return r.show(ctx, past, verdict.Policy{}, options)
}

// soFar returns a line that sums up the state of the tasks after the past
// events.
func soFar(past []event.Event, jobs []*api.Job, since time.Duration) string {
	count, restarts := map[string]int{}, uint64(0)
	for _, a := range fold.New(jobs, past...).Final() {
		for _, t := range a.Tasks {
			count[t.State]++
			restarts += t.Restarts
		}
	}
	return fmt.Sprintf("attached to a run of %v: tasks running %d, pending %d, dead %d; restarts %d",
		since.Round(time.Second), count["running"], count["pending"], count["dead"], restarts)
}
