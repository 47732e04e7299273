package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

type stopOptions struct {
	lookup.Connection
	mode    ui.Mode
	kill    bool
	purge   bool
	detach  bool
	noDelay bool
}

func newStopCommand(a *app) *cobra.Command {
	opts := stopOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:     "stop [JOB | TASK]",
		Aliases: []string{"down"},
		Short:   "Stop a run, or a task, and wait for its end",
		Long: `Stop the run of a job as Nomad would, with kill signals, grace periods and
poststop tasks, and wait until it has ended. JOB may be left out if there is
only one run. Ctrl-C kills what is still running; a second Ctrl-C ends the
command without waiting.

If no job has that name, stop the task [JOB/][GROUP[INDEX]/]TASK alone, or
ID/TASK of an allocation. The other tasks of the allocation continue. The task
does not start again before "taskrun start" or "taskrun restart --all-tasks".
Tasks that run once (prestart, poststart and poststop ones without sidecar)
cannot be stopped alone.

With --address, stop a job of a Nomad cluster. JOB is required then, and Ctrl-C
ends the command without waiting. Only Nomad Enterprise can stop a task alone.

Output:
  plain  for a job nothing, in a cluster one line; for a task one line
  json   one object of type "stopped" for each job, or for each task
  quiet  nothing

Exit codes:
  0    the run has ended, and no allocation failed; in a cluster, none failed
       after the order to stop. The task has ended
  1    an allocation failed, or there is no such run or task
  2    the call is wrong
  124  the --timeout of the run had passed before
  125  taskrun itself failed, or the run was killed
  129, 130, 143  the command did not wait for the end: SIGHUP, SIGINT or SIGTERM
       came twice; in a cluster, once`,
		Example: `  taskrun stop web
  taskrun stop --kill web
  taskrun stop web/server
  taskrun stop --address https://nomad.example.com:4646 --purge web`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeStop(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && a.namesTask(cmd.Context(), opts.Connection, args[0]) {
				return runStopTask(cmd.Context(), a, args[0], orderOptions{opts.Connection, opts.mode})
			}
			return runStop(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.BoolVar(&opts.kill, "kill", false, "kill the tasks immediately, without a grace period")
	flags.BoolVar(&opts.purge, "purge", false, "in a cluster or an agent: forget the job when it has ended")
	flags.BoolVarP(&opts.detach, "detach", "d", false, "in a cluster or an agent: do not wait for the end")
	flags.BoolVar(&opts.noDelay, "no-shutdown-delay", false, "do not wait for shutdown_delay")
	return cmd
}

// done reports that jobs were stopped, given their keys.
func (o *stopOptions) done(a *app, jobs ...string) error {
	var done []answer.Done
	for _, job := range jobs {
		namespace, id := event.SplitJobKey(job)
		done = append(done, answer.Done{Origin: ui.Origin{Job: id, Namespace: unusual(namespace)}, Label: "job " + event.JobName(job)})
	}
	return answer.WriteDone(a.Answer(o.mode), "stopped", done)
}

func runStop(ctx context.Context, a *app, job string, opts stopOptions) error {
	remote, err := opts.Remote("kill")
	switch {
	case err != nil:
		return err
	case remote:
		return stopCluster(ctx, a, job, job, opts)
	}
	if opts.kill && opts.noDelay {
		return exit.Usage("--kill cannot be combined with --no-shutdown-delay").WithHint("leave out --no-shutdown-delay: --kill waits for nothing")
	}
	for _, name := range []string{"purge", "detach"} {
		if opts.Flags.Changed(name) {
			return stopInAgent(ctx, a, job, opts, name)
		}
	}
	d, err := a.runs.FindRun(ctx, job, opts.DataDir)
	launched := ""
	if err != nil {
		if d, launched = a.runs.FindLaunched(ctx, job, opts.DataDir); launched == "" {
			return err
		}
	}
	defer d.Close()
	d.Detail, d.NoShutdownDelay = source.End, opts.noDelay
	jobs := d.IDs
	if job != "" {
		jobs = []string{cmp.Or(launched, d.Key(job))}
	}
	if len(jobs) < len(d.IDs) || d.Self.Agent || launched != "" {
		if opts.kill {
			return exit.Usage("cannot kill only job %q: other jobs continue", event.JobName(jobs[0])).WithHint("leave out --kill, or leave out the name to kill the whole run")
		}
		d.Only = jobs
	}
	policy := verdict.Policy{Outlives: true}
	if !opts.kill && d.Only == nil {
		policy.First = verdict.Kill
	}
	signals, unwatch := a.Signals()
	defer unwatch()
	if err := d.Stop(ctx, opts.kill); err != nil {
		return err
	}
	loop := &source.Loop{
		Source: d, Decider: verdict.New(policy, nil), Signals: signals, Codes: console.StopSignals,
		Say: func(text string) { a.Say("%s", text) },
	}
	tell := a.sayWaiting(ctx, d.Server, job, opts.mode)
	err = loop.Run(ctx)
	tell()
	left, wasLeft := errors.AsType[*source.LeftError](err)
	switch {
	case wasLeft:
		return exit.Silent(left.Code)
	case err != nil:
		return err
	}
	if opts.mode == ui.JSON {
		if err := opts.done(a, jobs...); err != nil {
			return err
		}
	}
	if d.Self.Agent {
		return agentJobEnded(ctx, d, jobs[0])
	}
	if ended, err := d.Ended(); err != nil || !ended { // other jobs continue
		return err
	}
	summary, err := record.Read(d.Self.Runs[jobs[0]])
	if err != nil {
		return err
	}
	return exit.Silent(summary.ExitCode)
}

// agentJobEnded returns the exit code of a job of an agent that has ended, as an error.
// An allocation that another one has replaced does not count.
func agentJobEnded(ctx context.Context, d *source.Directory, job string) error {
	s, id := d.Server.Of(job)
	tasks, _, err := s.Tasks(ctx, id, 0)
	switch {
	case client.Missing(err): // it was purged meanwhile
		return nil
	case err != nil:
		return err
	}
	if slices.ContainsFunc(tasks, func(t *client.Task) bool {
		return !t.Replaced() && t.Alloc.ClientStatus == api.AllocClientStatusFailed
	}) {
		return exit.Silent(verdict.Failed)
	}
	return nil
}

// stopInAgent stops a job of the agent of the data directory in the way that a flag
// wants, which agents have in common with clusters.
func stopInAgent(ctx context.Context, a *app, job string, opts stopOptions, flag string) error {
	dataDir, err := a.runs.DataDir(opts.DataDir)
	if err != nil {
		return err
	}
	found, err := a.runs.FindAgent(ctx, dataDir)
	switch {
	case err != nil:
		return err
	case found == nil:
		return exit.Usage("cannot use --%s: it requires --address, or an agent", flag)
	case opts.kill:
		return exit.Usage("--kill cannot be combined with --%s", flag)
	}
	opts.Cluster.Address = "unix://" + found.Server.Socket
	if job != "" {
		jobs, err := a.runs.Jobs(ctx, []*client.Server{found.Server})
		if err != nil {
			return err
		}
		j, err := lookup.FindJob(jobs, job)
		if err != nil {
			return err
		}
		job, opts.Cluster.Namespace = j.ID, j.Namespace
	}
	return stopCluster(ctx, a, job, event.JobKey(opts.Cluster.Namespace, job), opts)
}

// waitTime is how long a command waits for tasks before it says so.
const waitTime = 2 * time.Second

// sayWaiting prints, after a while, which tasks of a job (or of all jobs) are
// still running, unless the caller calls stop before. It prints in plain mode
// only.
func (a *app) sayWaiting(ctx context.Context, s *client.Server, job string, mode ui.Mode) (stop func()) {
	if mode != ui.Plain {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(waitTime):
		}
		tasks, _, err := s.Tasks(ctx, job, 0)
		if running := client.Running(tasks); err == nil && running != "" {
			a.Say("waiting for the end of %s", running)
		}
	})
	return func() {
		cancel()
		waiting.Wait()
	}
}

// stopCluster stops a job of a cluster, which has a key for users, and waits until it has
// ended. A signal ends only the wait.
func stopCluster(ctx context.Context, a *app, id, key string, opts stopOptions) error {
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	t, err := findClusterJob(ctx, a, opts.Connection, id)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	j, err := t.followed(ctx)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	run := cluster.New([]cluster.Job{j})
	run.Silent = true
	how := api.DeregisterOptions{Purge: opts.purge, NoShutdownDelay: opts.noDelay}
	if err := t.server.Deregister(ctx, id, how); err != nil {
		return exit.Stopped(ctx, err)
	}
	if opts.detach || j.Launches() { // its launched jobs continue
		return opts.done(a, key)
	}
	v := verdict.New(verdict.Policy{Outlives: true}, nil)
	tell := a.sayWaiting(ctx, t.server, id, opts.mode)
	err = follow(ctx, &source.Loop{Source: run, Decider: v})
	tell()
	switch {
	case err != nil && ctx.Err() != nil:
		a.Say("the run is stopping; not waiting for its end")
		return exit.Stopped(ctx, err)
	case err != nil:
		return err
	}
	if err := opts.done(a, key); err != nil {
		return err
	}
	if slices.ContainsFunc(v.Run.Allocs, func(a *fold.Alloc) bool { return a.Status == api.AllocClientStatusFailed }) {
		return exit.Silent(verdict.Failed)
	}
	return nil
}
