package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"taskrun/cmd/ui"
)

func (a *app) stopCommand() *cobra.Command {
	var kill bool
	var dataDir string
	cmd := &cobra.Command{
		Use:   "stop [JOB]",
		Short: "Stop a run, and wait for its end",
		Long: `Stop the run of a job as Nomad would: kill signals, grace periods, poststop
tasks; and wait for its end. JOB may be left out where there is one run. Ctrl-C
kills what still runs, and again leaves it to end by itself.

Exit codes:
  0    the run has ended, and no allocation had failed
  1    an allocation had failed, or no such run is here
  2    the call is wrong
  124  the run had passed its --timeout already
  125  taskrun itself failed, or the run was killed
  129, 130, 143  not waited for the end: SIGHUP, SIGINT, SIGTERM came twice`,
		Example: `  taskrun stop web
  taskrun stop --kill web`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.stop(cmd.Context(), first(args), dataDir, kill)
		},
	}
	cmd.Flags().BoolVar(&kill, "kill", false, "kill the tasks at once, without grace")
	bindDataDir(cmd.Flags(), &dataDir)
	return cmd
}

func (a *app) stop(ctx context.Context, job, dataDir string, kill bool) error {
	v, err := a.findRun(ctx, job, dataDir)
	if err != nil {
		return err
	}
	jobs := v.jobs
	if job != "" {
		jobs = []string{job}
	}
	if kill && len(jobs) < len(v.jobs) {
		return usageError("cannot kill job %q alone: other jobs of its run go on", job).withHint("stop it without --kill, or the whole run without a name")
	}
	f, err := v.follow()
	if err != nil {
		return err
	}
	f.silent = true
	signals, unwatch := a.signals()
	defer unwatch()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := v.stop(ctx, jobs, kill); err != nil {
		return errors.Join(err, f.close())
	}
	type end struct {
		summary *ui.Summary
		err     error
	}
	ended := make(chan end, 1)
	go func() {
		s, err := f.jobEnd(ctx, jobs)
		ended <- end{s, err}
	}()
	for {
		select {
		case sig := <-signals:
			if kill {
				cancel(&stopError{sig, stopSignals[sig]})
				continue
			}
			kill = true
			if len(jobs) < len(v.jobs) {
				cancel(&stopError{sig, stopSignals[sig]})
				continue
			}
			a.say("killing, again to leave it")
			if err := v.stop(ctx, jobs, true); err != nil {
				a.warn(err)
			}
		case e := <-ended:
			if err := errors.Join(e.err, f.close()); err != nil {
				return stopped(ctx, err)
			}
			if e.summary != nil {
				return silent(e.summary.ExitCode)
			}
			return nil
		}
	}
}

// stop stops jobs of the run. It has ended when nothing answers any more.
func (v *liveRun) stop(ctx context.Context, jobs []string, kill bool) error {
	for _, job := range jobs {
		var err error
		if len(jobs) == len(v.jobs) {
			err = v.server.StopRun(ctx, job, kill)
		} else {
			err = v.server.Stop(ctx, job)
		}
		if err == nil {
			continue
		}
		if s, _ := readSummary(v.self.Runs[job]); s == nil {
			return fmt.Errorf("%w; what taskrun had to say is in %s", err, v.log(job))
		}
	}
	return nil
}
