package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

type attachOptions struct {
	connection
	mode    ui.Mode
	time    ui.TimeFormat
	verbose bool
	history bool
	dataDir string
}

func newAttachCommand(a *app) *cobra.Command {
	opts := attachOptions{mode: ui.Plain, time: ui.TimeClock}
	cmd := &cobra.Command{
		Use:   "attach [JOB]",
		Short: "Show a run in the background as if it were in the foreground",
		Long: `Show a run as "up" does in the foreground, until it ends: what happens from
now on and, with --history, what has happened since it began. JOB may be left
out where there is one run. Ctrl-C ends the showing, and the run goes on; to
stop it use "taskrun stop".

With --address show a job of a Nomad cluster, which has to be named.

Output:
  plain  lines for people: time, task, output; at the end a table
  json   one object a line, as "up" has them, always with the whole history
  quiet  the tasks' output alone, and what failed

Exit codes:
  those of the run, see "taskrun up --help"
  1    no such run is here
  2    the call is wrong
  125  taskrun itself failed, or the run was killed
  129, 130, 143  the showing was ended by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed; the run goes on`,
		Example: `  taskrun attach
  taskrun attach --history --output json web`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(a, &opts.connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAttach(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	bindTime(cmd, &opts.time)
	bindVerbose(flags, &opts.verbose)
	flags.BoolVar(&opts.history, "history", false, "show everything since the run began")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runAttach(ctx context.Context, a *app, job string, opts attachOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	if remote, err := opts.remote(); err != nil || remote {
		if err != nil {
			return err
		}
		return attachCluster(ctx, a, job, opts)
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	summary, err := attachHere(ctx, a, job, opts)
	if err != nil {
		return stopped(ctx, err)
	}
	return silent(summary.ExitCode)
}

// attachHere shows a run of this machine until it ends, and returns how it did.
func attachHere(ctx context.Context, a *app, job string, opts attachOptions) (*view.Summary, error) {
	d, err := a.findRun(ctx, job, opts.dataDir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	jobs, err := d.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	began, err := d.Began() // under an earlier engine, perhaps
	if err != nil {
		return nil, err
	}
	if submitted := time.Unix(0, *jobs[0].SubmitTime); submitted.Before(began) {
		began = submitted
	}
	options := view.Options{
		Mode: opts.mode, Color: a.color, Time: opts.time, Verbose: opts.verbose, Jobs: jobs, Begin: began,
		Version: d.Self.Version, DataDir: d.Self.DataDir, Socket: d.Server.Socket, PID: d.Self.PID,
	}
	if !opts.history && opts.mode != ui.JSON {
		if options.Past, err = d.Past(ctx); err != nil {
			return nil, err
		}
		options.Said = soFar(options.Past, jobs, time.Since(began))
	}
	display := view.New(a.streams, options)
	if err := follow(ctx, outside(d, display, true)); err != nil {
		var sig *stopError
		if errors.As(context.Cause(ctx), &sig) {
			a.say("the run goes on; stop it with: taskrun stop %s", d.IDs[0])
		}
		return nil, err
	}
	summary, err := readSummary(d.Self.Runs[d.IDs[0]])
	if err != nil {
		return nil, err
	}
	display.End(view.Result{ExitCode: summary.ExitCode, Cause: summary.Cause, User: summary.User, Time: summary.Ended()})
	return summary, nil
}

// outside is the loop of a command that only looks at a run.
func outside(s source.Source, screen source.Screen, output bool) *source.Loop {
	return &source.Loop{
		Source: s, Screen: screen, Output: output,
		Decider: verdict.New(verdict.Policy{Outlives: true}, nil),
	}
}

// follow follows a run until it ends or ctx does, which leaves it.
func follow(ctx context.Context, loop *source.Loop) error {
	err := loop.Run(ctx)
	if shown := loop.Shown(ctx); ctx.Err() != nil && (err != nil || !shown) {
		return context.Cause(ctx)
	}
	if err != nil || loop.Screen == nil {
		return err
	}
	select {
	case broken := <-loop.Screen.Broken():
		return broken
	default:
		return nil
	}
}

// soFar tells in a line what the past has come to.
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
