package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
)

type eventsOptions struct {
	connection
	mode    ui.Mode
	time    ui.TimeFormat
	follow  bool
	dataDir string
}

func newEventsCommand(a *app) *cobra.Command {
	opts := eventsOptions{mode: ui.Plain, time: ui.TimeISO}
	cmd := &cobra.Command{
		Use:   "events [-f] [JOB]",
		Short: "Show what has happened in a run",
		Long: `Show what has happened in the run of a job or, when it does not run, in its
latest run: task events, states, deployments; not the tasks' output. JOB may be
left out where there is one run, and else stands for the one that began last.

With --address show what a Nomad cluster still knows of a job, which has to be
named: the last ten events of each task.

Output:
  plain  lines for people, as "up" has them on stderr
  json   one object a line, as "up" has them

Exit codes:
  0  it is shown; with --follow: the run has ended
  1  there is no such run
  2  the call is wrong
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun events web
  taskrun events -f --output json | jq -r 'select(.event=="Terminated").message'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(a, &opts.connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEvents(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON)
	bindTime(cmd, &opts.time)
	flags.BoolVarP(&opts.follow, "follow", "f", false, "also show what is still to come, until the run ends")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runEvents(ctx context.Context, a *app, job string, opts eventsOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	if opts.mode == ui.Quiet {
		return usageError("cannot show events quietly").withHint("use --output plain or json")
	}
	remote, err := opts.remote()
	if err != nil {
		return err
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	find := eventsHere
	if remote {
		find = eventsOfCluster
	}
	return stopped(ctx, find(ctx, a, job, opts))
}

// eventsHere shows what has happened in a run of this machine.
func eventsHere(ctx context.Context, a *app, job string, opts eventsOptions) error {
	d, missing := a.findRun(ctx, job, opts.dataDir)
	if missing != nil {
		past, err := endedEvents(ctx, a, job, opts, missing)
		if err != nil {
			return err
		}
		return showEvents(ctx, a, source.NewReplay(past), nil, began(past), opts)
	}
	defer d.Close()
	d.Detail = source.Events
	jobs, err := d.Jobs(ctx)
	if err != nil {
		return err
	}
	begin, err := d.Began()
	if err != nil {
		return err
	}
	if opts.follow {
		return showEvents(ctx, a, d, jobs, begin, opts)
	}
	past, err := d.Past(ctx)
	if err != nil {
		return err
	}
	return showEvents(ctx, a, source.NewReplay(past), jobs, begin, opts)
}

// began is when the first event happened; now, when there is none.
func began(past []event.Event) time.Time {
	if len(past) == 0 {
		return time.Now()
	}
	return past[0].Time
}

// endedEvents returns the events of a run that has ended, if there is one.
func endedEvents(ctx context.Context, a *app, job string, opts eventsOptions, missing error) ([]event.Event, error) {
	if job == "" && exitCode(missing) == exitUsage {
		return nil, missing // there are several
	}
	dataDir, err := a.dataDir(opts.dataDir)
	if err != nil {
		return nil, err
	}
	runs, err := endedRuns(ctx, a, dataDir, job)
	if err != nil {
		return nil, err
	}
	r := latestOf(runs)
	switch {
	case r != nil:
		return r.events, nil
	case job != "":
		return nil, (&exitError{code: exitFailed, err: fmt.Errorf("job %q neither runs nor has run", job)}).withHint("see: taskrun ps")
	}
	return nil, missing
}

// showEvents shows what happens in a run that began at a time.
func showEvents(ctx context.Context, a *app, s source.Source, jobs []*api.Job, begin time.Time, opts eventsOptions) error {
	streams := *a.streams
	streams.Err, streams.ErrTerm = streams.Out, streams.OutTerm // here they are what is asked for
	return follow(ctx, outside(s, view.New(&streams, view.Options{
		Mode: opts.mode, Color: a.color, Time: opts.time, Begin: begin, Jobs: jobs, Bare: true, Verbose: true,
	}), false))
}
