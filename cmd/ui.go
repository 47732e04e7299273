package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/onscreen"
	"taskrun/cmd/ui/screen"
)

func newUICommand(a *app) *cobra.Command {
	var at lookup.Connection
	cmd := &cobra.Command{
		Use:   "ui [JOB]",
		Short: "Work with a run on the full screen",
		Long: `Show a run on the full screen of the terminal: its jobs, groups, allocations and
tasks as a tree, with the output of the selected tasks beside it. Keys restart,
stop and scale the selected job, group or task, open a shell in it, and more:
"?" lists them. JOB may be left out if there is only one run. Leaving the screen
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
	s := &onscreen.Session{Console: a.Console, ConfigFile: a.configFile, At: at}
	// Ctrl-C in an action is for the action; on the screen it is a key.
	ctx, stop := a.InterruptibleBy(ctx, func(sig os.Signal) bool { return sig != os.Interrupt || !s.IsAway() })
	defer stop()
	if remote {
		err = screenOfCluster(ctx, a, s, job)
	} else {
		err = screenOfRun(ctx, a, s, job)
	}
	return exit.Stopped(ctx, err)
}

func screenOfRun(ctx context.Context, a *app, s *onscreen.Session, job string) error {
	d, err := a.runs.FindRun(ctx, job, s.At.DataDir)
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
	return s.OfDirectory(ctx, d, jobs)
}

func screenOfCluster(ctx context.Context, a *app, s *onscreen.Session, id string) error {
	t, err := findClusterJob(ctx, a, s.At, id)
	if err != nil {
		return err
	}
	run := t.silentRun()
	past, err := run.Past(ctx)
	if err != nil {
		return err
	}
	s.Server, s.Outputs, s.Inspect = t.server, onscreen.ClusterOutputs(t.server, id), run.Inspect
	return s.Show(ctx, run, screen.Options{Jobs: []*api.Job{t.job}, Past: past, Title: fmt.Sprintf("%s in %v", id, t.server)})
}
