package cmd

import (
	"context"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
)

type eventsOptions struct {
	lookup.Connection
	mode   ui.Mode
	time   ui.TimeFormat
	follow bool
}

func newEventsCommand(a *app) *cobra.Command {
	opts := eventsOptions{mode: ui.Plain, time: ui.TimeISO}
	cmd := &cobra.Command{
		Use:   "events [-f] [RUN]",
		Short: "Show what has happened in a run",
		Long: `Show what has happened in a run: task events, states and deployments, but no
output of tasks. Without RUN, show the only run that has not ended, or else the
latest one.

` + lookup.RunNameHelp + `

With --address, show what a Nomad cluster still knows about a job: the last ten
events of each task. RUN is the job then, and required.

Output:
  plain  lines for people, as "taskrun up" writes them to stderr
  json   one object per line, as "taskrun up" writes them

Exit codes:
  0  success; with --follow, the run has ended
  1  there is no such run
  2  the call is wrong
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun events web
  taskrun events web.zip
  taskrun events -f --output json | jq -r 'select(.event=="Terminated").message'`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeEvents(a, &opts),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEvents(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	bindOutput(cmd, &opts.mode, "plain or json")
	bindTime(cmd, &opts.time)
	flags.BoolVarP(&opts.follow, "follow", "f", false, "continue with new events until the run ends")
	return cmd
}

// completeEvents completes a run of this machine, or a job of a cluster.
func completeEvents(a *app, opts *eventsOptions) cobra.CompletionFunc {
	jobs, runs := completeRuns(a, &opts.Connection), completeRunNames(a, &opts.DataDir, 1)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		names, files := runs(cmd, args, prefix)
		if opts.Cluster.Address != "" {
			return jobs(cmd, args, prefix)
		}
		return names, files
	}
}

func runEvents(ctx context.Context, a *app, job string, opts eventsOptions) error {
	if opts.mode == ui.Quiet {
		return exit.Usage("cannot show events quietly").WithHint("use --output plain or json")
	}
	remote, err := opts.Remote()
	if err != nil {
		return err
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	find := eventsHere
	if remote {
		find = eventsOfCluster
	}
	return exit.Stopped(ctx, find(ctx, a, job, opts))
}

func eventsHere(ctx context.Context, a *app, name string, opts eventsOptions) error {
	if lookup.IsPath(name) {
		r, err := lookup.OpenRunFile(name)
		if err != nil {
			return err
		}
		defer r.Close()
		return showKept(ctx, a, r.Run, opts)
	}
	d, missing := a.runs.FindRun(ctx, name, opts.DataDir) // with all its jobs
	if missing != nil {
		r, err := a.runs.OpenKept(ctx, name, opts.DataDir, missing)
		if err != nil {
			return err
		}
		defer r.Close()
		if d = r.Engine; d == nil || !opts.follow {
			return showKept(ctx, a, r.Run, opts)
		}
	}
	defer d.Close()
	if err := lookup.OneOfAgent(d, name); err != nil {
		return err
	}
	d.Detail = source.Events
	jobs, err := d.Jobs(ctx)
	if err != nil {
		return err
	}
	begin, err := d.Began()
	if err != nil {
		return err
	}
	return showRun(ctx, a, d, jobs, begin, opts)
}

// eventsOfCluster shows the events of a job that a cluster still knows.
func eventsOfCluster(ctx context.Context, a *app, id string, opts eventsOptions) error {
	t, err := findClusterJob(ctx, a, opts.Connection, id)
	if err != nil {
		return err
	}
	return showRun(ctx, a, t.silentRun(), []*api.Job{t.job}, time.Unix(0, *t.job.SubmitTime), opts)
}

// shownAtOnce is how many events of a kept run are in memory at a time, beside what
// the state of the run takes.
const shownAtOnce = 4096

// showKept shows the past events of a run, a limited number at a time.
func showKept(ctx context.Context, a *app, r *record.Run, opts eventsOptions) error {
	var display *view.Display
	show := func(events []event.Event) error {
		if display == nil {
			display = eventsView(a, nil, events[0].Time, opts)
		}
		var bus event.Bus
		sub := bus.Subscribe(false)
		bus.Commit(events, nil)
		bus.Close()
		display.Run(ctx, sub)
		select {
		case err := <-display.Broken():
			return err
		default:
			return context.Cause(ctx)
		}
	}
	events := make([]event.Event, 0, shownAtOnce)
	for e, err := range a.runs.EventsOf(r) {
		if err != nil {
			return err
		}
		if events = append(events, e); len(events) == shownAtOnce {
			if err := show(events); err != nil {
				return err
			}
			events = events[:0]
		}
	}
	if len(events) == 0 {
		return nil
	}
	return show(events)
}

// showRun shows the events of a run that began at a given time and may still
// continue.
func showRun(ctx context.Context, a *app, s source.Source, jobs []*api.Job, begin time.Time, opts eventsOptions) error {
	if !opts.follow {
		past, err := s.Past(ctx)
		if err != nil {
			return err
		}
		s = source.NewReplay(past)
	}
	return follow(ctx, outside(s, eventsView(a, jobs, begin, opts), false))
}

func eventsView(a *app, jobs []*api.Job, begin time.Time, opts eventsOptions) *view.Display {
	streams := *a.Streams
	streams.Err, streams.ErrTerm = streams.Out, streams.OutTerm // for this command they are the answer
	return view.New(&streams, view.Options{
		Mode: opts.mode, Color: a.Color, Time: opts.time, Begin: begin, Jobs: jobs, Bare: true, Verbose: true,
	})
}
