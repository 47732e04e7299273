package cmd

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/fullscreen"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

func newUICommand(a *app) *cobra.Command {
	var at lookup.Connection
	cmd := &cobra.Command{
		Use:   "ui [JOB]",
		Short: "Work with a run on the full screen",
		Long: `Show a run on the full screen of the terminal: its jobs, groups, allocations
and tasks as a tree, with the output of the selected tasks beside it. Keys
restart, stop and scale what is selected, open a shell in it, and more: "?"
lists them. JOB may be left out if there is only one run. Leaving the screen
detaches; the run continues.

With --address, show a job of a Nomad cluster. JOB is required then.

` + "`taskrun up --ui`" + ` runs jobs and shows them like this.

Exit codes:
  0    the screen was left
  1    there is no such run
  2    the call is wrong, or there is no terminal
  125  taskrun itself failed
  129, 143  ended by SIGHUP, SIGTERM; the run continues`,
		Example: `  taskrun ui
  taskrun ui web`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeRuns(a, &at),
		RunE:              func(cmd *cobra.Command, args []string) error { return runUI(cmd.Context(), a, first(args), at) },
	}
	at.BindRuns(cmd.Flags())
	return cmd
}

func runUI(ctx context.Context, a *app, job string, at lookup.Connection) error {
	remote, err := at.Remote()
	if err != nil {
		return err
	}
	if err := a.NeedsTerminal(); err != nil {
		return err
	}
	s := &uiSession{a: a, at: at}
	// Ctrl-C in an action is for the action; on the screen it is a key.
	ctx, stop := a.InterruptibleBy(ctx, func(sig os.Signal) bool { return sig != os.Interrupt || !s.away.Load() })
	defer stop()
	if remote {
		err = s.ofCluster(ctx, job)
	} else {
		err = s.ofRun(ctx, job)
	}
	return exit.Stopped(ctx, err)
}

// ofRun shows a run of this machine.
func (s *uiSession) ofRun(ctx context.Context, job string) error {
	d, err := s.a.runs.FindRun(ctx, job, s.at.DataDir)
	if err != nil {
		return err
	}
	defer d.Close()
	if d.Self.Agent && job != "" {
		d.IDs = []string{d.Key(job)} // not Narrow: its end would have to be asked for
	}
	jobs, err := d.Jobs(ctx)
	if err != nil {
		return err
	}
	return s.ofDirectory(ctx, d, jobs)
}

// ofDirectory shows a run of this machine.
func (s *uiSession) ofDirectory(ctx context.Context, d *source.Directory, jobs []*api.Job) error {
	d.Detail = source.Events
	past, err := d.Past(ctx)
	if err != nil {
		return err
	}
	s.server, s.outputs = d.Server, directoryOutputs(d)
	return s.show(ctx, d, screen.Options{Jobs: jobs, Past: past, Title: strings.Join(lookup.JobNames(d.IDs), ", ")})
}

// ofCluster shows a job of a cluster.
func (s *uiSession) ofCluster(ctx context.Context, id string) error {
	t, err := findClusterJob(ctx, s.a, s.at, id)
	if err != nil {
		return err
	}
	run := cluster.New([]cluster.Job{{Job: t.job, Server: t.server}})
	run.Silent = true
	past, err := run.Past(ctx)
	if err != nil {
		return err
	}
	r := &clusterRun{a: s.a, jobs: []clusterJob{t}}
	s.server, s.outputs, s.inspect = t.server, clusterOutputs(t.server, id), run.Inspect
	return s.show(ctx, run, screen.Options{Jobs: r.apiJobs(), Past: past, Title: fmt.Sprintf("%s in %v", id, t.server)})
}

// show shows the run of a source until the user leaves the screen.
func (s *uiSession) show(ctx context.Context, from source.Source, options screen.Options) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.own != nil && options.Leave == nil {
		options.Leave = leaveRunning
	}
	options.Zone = time.Local
	s.model = screen.New(options)
	if s.term, err = fullscreen.Open(s.a.Streams, s.a.Streams.OutStyle(s.a.Color).On); err != nil {
		return (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("use instead: taskrun attach, ps, logs")
	}
	defer s.term.Close()
	debug.SetGCPercent(uiGarbage)
	s.calls, s.ended = make(chan func()), make(chan struct{})
	loop := s.loop
	if loop == nil {
		loop = outside(from, s, false)
	}
	loop.Begin()
	following := s.background(func() {
		err := loop.Run(ctx)
		s.do(ctx, func() { s.over(err) })
	})
	err = s.run(ctx)
	close(s.ended)
	cancel(errLeft)
	following()
	s.closing.Wait()
	return err
}

// uiGarbage is how much garbage a full screen keeps, in percent of what is live.
const uiGarbage = 50

// over shows that the run has ended, or is out of reach.
func (s *uiSession) over(err error) {
	if s.own != nil && s.own.remote != nil && s.own.remote.over(err) {
		s.left = true
		return
	}
	if err == nil {
		s.model.Ended("ended")
		s.left = s.own != nil && s.own.stopping
		return
	}
	s.model.Ended("out of reach")
	s.model.Fail(err)
}

// Run shows events until they end.
func (s *uiSession) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		batch := []event.Event{e}
		for len(batch) < maxBatch && events.Ready() {
			if e, ok = events.Next(ctx); !ok {
				break
			}
			batch = append(batch, e)
		}
		s.do(ctx, func() {
			for _, e := range batch {
				s.model.Apply(e)
			}
			s.measure.rouse()
		})
	}
}

// maxBatch limits the events that are applied without a look at the keyboard.
const maxBatch = 1000

// Say shows a message.
func (s *uiSession) Say(text string) {
	select {
	case s.calls <- func() { s.model.Say(text) }:
	case <-s.ended:
	}
}

// SayAfter shows a message.
func (s *uiSession) SayAfter(_ uint64, text string) { s.Say(text) }

// Broken never receives an error: the library reports none.
func (s *uiSession) Broken() <-chan error { return nil }
