package cmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/onscreen"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

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
		hint := strings.TrimPrefix(client.Remedy(l.Failure)+"\n"+r.goesOn(), "\n")
		return (&exit.Error{Code: verdict.Internal, Err: l.Failure}).WithHint("%s", hint)
	}
	if err := r.unplaced(v); err != nil {
		return err
	}
	r.a.Say("the run has ended: %s", cmp.Or(v.Cause.Text, strings.Join(r.names(), ", ")+" ended"))
	return exit.Silent(v.Code())
}
