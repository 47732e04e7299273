package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"taskrun/cmd/ui"
)

type stopOptions struct {
	connection
	mode    ui.Mode
	dataDir string
	kill    bool
	purge   bool
	detach  bool
	noDelay bool
}

func (a *app) stopCommand() *cobra.Command {
	opts := stopOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "stop [JOB]",
		Short: "Stop a run, and wait for its end",
		Long: `Stop the run of a job as Nomad would: kill signals, grace periods, poststop
tasks; and wait for its end. JOB may be left out where there is one run. Ctrl-C
kills what still runs, and again leaves it to end by itself.

With --address stop a job of a Nomad cluster, which has to be named; Ctrl-C
leaves it to end by itself.

Output:
  plain  nothing or, of a cluster, a line
  json   one object of type "stopped" for each job
  quiet  nothing

Exit codes:
  0    the run has ended, and no allocation had failed; of a cluster: none
       has failed since
  1    an allocation had failed, or there is no such run
  2    the call is wrong
  124  the run had passed its --timeout already
  125  taskrun itself failed, or the run was killed
  129, 130, 143  not waited for the end: SIGHUP, SIGINT, SIGTERM came twice;
       of a cluster: once`,
		Example: `  taskrun stop web
  taskrun stop --kill web
  taskrun stop --address https://nomad.example.com:4646 --purge web`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRuns(&opts.connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.stop(cmd.Context(), first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	flags.BoolVar(&opts.kill, "kill", false, "kill the tasks at once, without grace")
	flags.BoolVar(&opts.purge, "purge", false, "in a cluster: forget the job when it has ended")
	flags.BoolVarP(&opts.detach, "detach", "d", false, "in a cluster: do not wait for the end")
	flags.BoolVar(&opts.noDelay, "no-shutdown-delay", false, "in a cluster: leave out shutdown_delay")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

// done tells that a job was stopped.
func (o *stopOptions) done(a *app, jobs ...string) error {
	var done []ui.Done
	for _, job := range jobs {
		done = append(done, ui.Done{Job: job, Label: "job " + job})
	}
	return ui.WriteDone(a.streams, o.mode, "stopped", done)
}

func (a *app) stop(ctx context.Context, job string, opts stopOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	remote, err := opts.remote("kill")
	switch {
	case err != nil:
		return err
	case remote:
		return a.stopCluster(ctx, job, opts)
	}
	for _, name := range []string{"purge", "detach", "no-shutdown-delay"} {
		if opts.flags.Changed(name) {
			return usageError("cannot use --%s: it is for a cluster, and there is no --address", name)
		}
	}
	v, err := a.findRun(ctx, job, opts.dataDir)
	if err != nil {
		return err
	}
	jobs, kill := v.jobs, opts.kill
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
			if opts.mode == ui.JSON {
				if err := opts.done(a, jobs...); err != nil {
					return err
				}
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
