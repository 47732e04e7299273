package cmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/onscreen"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// upOnScreen runs jobs in the background, and shows them on the full screen until the
// user has stopped the run, or leaves it.
func upOnScreen(ctx context.Context, a *app, files []jobfile.File, warnings jobspec.Diagnostics, opts upOptions, dataDir string) error {
	if err := a.NeedsTerminal(); err != nil {
		return err
	}
	d, err := detach(a, files, warnings, opts, dataDir)
	if err != nil {
		return err
	}
	defer d.Close()
	signals, unwatch := a.Signals()
	defer unwatch()
	s := &onscreen.Session{Console: a.Console, ConfigFile: a.configFile, At: opts.at, Own: &onscreen.OwnRun{From: d, Caught: signals}}
	if err := s.OfDirectory(ctx, d, jobfile.Jobs(files)); err != nil {
		return err
	}
	if s.Own.Alone {
		return reportDetached(ctx, a, jobfile.Jobs(files), opts, d)
	}
	return resultOnScreen(a, s.Own, d, jobfile.Jobs(files))
}

// resultOnScreen returns the exit code of the run, which has ended, as an error.
func resultOnScreen(a *app, r *onscreen.OwnRun, d *source.Directory, jobs []*api.Job) error {
	summary, err := record.Read(d.Self.Runs[*jobs[0].ID])
	if err != nil || summary == nil {
		return err
	}
	reason := summary.Reason
	if reason == verdict.ByClient { // which this process was
		reason = cmp.Or(r.Cause, reason)
	}
	a.Say("the run has ended: %s", reason)
	if r.Code != 0 && summary.ExitCode != verdict.Failed {
		return exit.Silent(r.Code)
	}
	return exit.Silent(summary.ExitCode)
}

// onScreen shows jobs that were registered on the full screen, until they have ended or
// the user leaves. It decides what the plain view decides.
func (r *clusterRun) onScreen(ctx context.Context, past []event.Event, p verdict.Policy, began time.Time) error {
	signals, unwatch := r.a.Signals()
	defer unwatch()
	p.Outlives, p.First = true, verdict.Ask
	v := verdict.New(p, r.apiJobs(), past...)
	l := onscreen.NewLeaving()
	r.run.Silent = true
	server, job := r.jobs[0].server, *r.jobs[0].job.ID
	if len(r.jobs) > 1 {
		job = "" // the screen selects tasks of all
	}
	s := &onscreen.Session{Console: r.a.Console, ConfigFile: r.a.configFile, At: r.at, Server: server, Outputs: onscreen.ClusterOutputs(server, job), Inspect: r.run.Inspect, Own: &onscreen.OwnRun{Caught: signals, Remote: l}}
	s.Loop = &source.Loop{Source: r.run, Screen: s, Decider: v, Signals: l.Signals, Codes: console.StopSignals, Question: l}
	if p.Timeout > 0 {
		s.Loop.Timeout = max(1, p.Timeout-time.Since(began))
	}
	where := r.where()
	if !r.agent {
		where = server.String()
	}
	err := s.Show(ctx, r.run, screen.Options{
		Jobs: r.apiJobs(), Past: past, Title: strings.Join(r.names(), ", ") + " in " + where, Leave: onscreen.LeaveCluster,
	})
	switch {
	case err != nil:
		return err
	case l.Left != nil:
		r.a.Say("%s", r.goesOn())
		return exit.Silent(l.Left.Code)
	case l.Failure != nil:
		return r.outOfReach(l.Failure)
	}
	if err := r.unplaced(v); err != nil {
		return err
	}
	r.a.Say("the run has ended: %s", cmp.Or(v.Cause.Text, strings.Join(r.names(), ", ")+" ended"))
	return exit.Silent(v.Code())
}
