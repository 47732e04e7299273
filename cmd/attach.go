package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/ui"
	"taskrun/engine/event"
)

type attachOptions struct {
	mode    ui.Mode
	time    ui.TimeFormat
	history bool
	dataDir string
}

func (a *app) attachCommand() *cobra.Command {
	opts := attachOptions{mode: ui.Plain, time: ui.TimeClock}
	cmd := &cobra.Command{
		Use:   "attach [JOB]",
		Short: "Show a run in the background as if it were in the foreground",
		Long: `Show a run as "up" does in the foreground, until it ends: what happens from
now on and, with --history, what has happened since it began. JOB may be left
out where there is one run. Ctrl-C ends the showing, and the run goes on; to
stop it use "taskrun stop".

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
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.attach(cmd.Context(), first(args), opts)
		},
	}
	flags := cmd.Flags()
	flags.Var(&opts.mode, "output", "plain, json or quiet")
	flags.Var(&opts.time, "time", "what stands before lines: clock, elapsed, iso or none")
	flags.BoolVar(&opts.history, "history", false, "show everything since the run began")
	bindDataDir(flags, &opts.dataDir)
	complete(cmd, "output", string(ui.Plain), string(ui.JSON), string(ui.Quiet))
	complete(cmd, "time", string(ui.TimeClock), string(ui.TimeElapsed), string(ui.TimeISO), string(ui.TimeNone))
	return cmd
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// completeRuns completes the jobs that run.
func (a *app) completeRuns(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 && a.configure(cmd) == nil {
		runs, _ := a.liveRuns(cmd.Context())
		for _, r := range runs {
			names = append(names, r.jobs...)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) attach(ctx context.Context, job string, opts attachOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	ctx, stop := a.stoppable(ctx)
	defer stop()
	v, err := a.findRun(ctx, job, opts.dataDir)
	if err != nil {
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
	var summary *ui.Summary
	err = impatient(ctx, func() error {
		s, err := a.showRun(ctx, f, jobs, opts)
		summary = s
		return errors.Join(err, f.close())
	})
	if err != nil {
		var sig *stopError
		if errors.As(context.Cause(ctx), &sig) {
			a.say("the run goes on; stop it with: taskrun stop %s", v.jobs[0])
		}
		return stopped(ctx, err)
	}
	return silent(summary.ExitCode)
}

// say tells the user something on stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.streams.Err, "%s\n", a.streams.ErrStyle(a.colour).Note("▸ "+fmt.Sprintf(format, args...)))
}

// submitted are the jobs of the run as they were submitted.
func (v *liveRun) submitted(ctx context.Context) (jobs []*api.Job, err error) {
	for _, id := range v.jobs {
		j, err := v.server.Job(ctx, id)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// showRun shows a run until it ends.
func (a *app) showRun(ctx context.Context, f *followed, jobs []*api.Job, opts attachOptions) (*ui.Summary, error) {
	past, err := f.past()
	if err != nil {
		return nil, err
	}
	f.whole = opts.history || opts.mode == ui.JSON
	begin := time.Unix(0, *jobs[0].SubmitTime)
	if len(past) > 0 && past[0].Time.Before(begin) {
		begin = past[0].Time // by an earlier engine
	}
	options := ui.Options{
		Mode: opts.mode, Colour: a.colour, Time: opts.time, Jobs: jobs, Begin: begin,
		Version: f.self.Version, DataDir: f.self.DataDir, Socket: f.server.Socket, PID: f.self.PID,
	}
	if !f.whole {
		options.Past = past
	}
	display := ui.New(a.streams, options)
	events := f.bus.Subscribe(true)
	if !f.whole {
		display.Say(soFar(past, jobs, time.Since(begin)))
		f.mute(past)
		past = nil
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		display.Run(ctx, events)
	}()
	summary, err := f.run(ctx, past)
	f.bus.Close()
	<-shown
	select {
	case broken := <-display.Broken():
		return nil, errors.Join(broken, err)
	default:
	}
	if err != nil {
		return nil, err
	}
	display.End(ui.Result{ExitCode: summary.ExitCode, Cause: summary.Cause, Time: summary.Ended()})
	return summary, nil
}

// mute takes in the past without publishing it.
func (f *followed) mute(past []event.Event) {
	for _, e := range past {
		f.look(e)
	}
}

// soFar tells in a line what the past has come to.
func soFar(past []event.Event, jobs []*api.Job, since time.Duration) string {
	model := ui.NewModel(jobs)
	for _, e := range past {
		model.Apply(e)
	}
	count, restarts := map[string]int{}, uint64(0)
	for _, a := range model.Final() {
		for _, t := range a.Tasks {
			count[t.State]++
			restarts += t.Restarts
		}
	}
	return fmt.Sprintf("attached to a run of %v: tasks running %d, pending %d, dead %d; restarts %d",
		since.Round(time.Second), count["running"], count["pending"], count["dead"], restarts)
}
