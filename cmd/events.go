package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

type eventsOptions struct {
	connection
	mode    ui.Mode
	time    ui.TimeFormat
	follow  bool
	dataDir string
}

func (a *app) eventsCommand() *cobra.Command {
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
		ValidArgsFunction: a.completeRuns(&opts.connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.events(cmd.Context(), first(args), opts)
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

func (a *app) events(ctx context.Context, job string, opts eventsOptions) error {
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
	if remote {
		return stopped(ctx, a.clusterEvents(ctx, job, opts))
	}
	v, missing := a.findRun(ctx, job, opts.dataDir)
	if missing != nil {
		err := a.endedEvents(ctx, job, opts, missing)
		return stopped(ctx, err)
	}
	jobs, err := v.submitted(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	f, err := v.follow()
	if err != nil {
		return err
	}
	f.silent = true
	past, err := f.past()
	if err == nil {
		err = a.showEvents(ctx, jobs, past, opts, func(bus *event.Bus) error {
			if !opts.follow {
				return nil
			}
			done := forward(f.bus.Subscribe(false), bus)
			_, err := f.run(ctx, nil)
			f.bus.Close()
			<-done
			return err
		})
	}
	return stopped(ctx, errors.Join(err, f.close()))
}

// forward publishes what is subscribed to on another bus, until its end.
func forward(from *event.Subscription, to *event.Bus) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer from.Close()
		for e, ok := from.Next(context.Background()); ok; e, ok = from.Next(context.Background()) {
			to.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
		}
	}()
	return ended
}

// endedEvents shows the events of a run that has ended, if there is one.
func (a *app) endedEvents(ctx context.Context, job string, opts eventsOptions, missing error) error {
	if job == "" && exitCode(missing) == exitUsage {
		return missing // there are several
	}
	dataDir, err := a.dataDir(opts.dataDir)
	if err != nil {
		return err
	}
	runs, err := a.endedRuns(ctx, dataDir, job)
	if err != nil {
		return err
	}
	r := latestOf(runs)
	if r == nil && job != "" {
		return &exitError{code: exitFailed, err: fmt.Errorf("job %q neither runs nor has run", job), hint: "see: taskrun ps"}
	}
	if r == nil {
		return missing
	}
	return a.showEvents(ctx, nil, r.events, opts, func(*event.Bus) error { return nil })
}

// showEvents shows the past, and what more publishes.
func (a *app) showEvents(ctx context.Context, jobs []*api.Job, past []event.Event, opts eventsOptions, more func(*event.Bus) error) error {
	begin := time.Now()
	if len(past) > 0 {
		begin = past[0].Time
	}
	streams := *a.streams
	streams.Err, streams.ErrTerm = streams.Out, streams.OutTerm // here they are what is asked for
	display := ui.New(&streams, ui.Options{Mode: opts.mode, Colour: a.colour, Time: opts.time, Begin: begin, Jobs: jobs, Bare: true})
	var bus event.Bus
	events := bus.Subscribe(false)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		display.Run(ctx, events)
	}()
	for _, e := range past {
		bus.PublishAt(e.Time, e.Alloc, e.Task, e.Body)
	}
	err := more(&bus)
	bus.Close()
	<-shown
	select {
	case broken := <-display.Broken():
		return errors.Join(broken, err)
	default:
		return err
	}
}
