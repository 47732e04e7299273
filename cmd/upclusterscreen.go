package cmd

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// The choices of a user who leaves the screen of "up --ui" while a cluster runs the
// jobs, and while they are stopping.
var (
	leaveCluster     = []screen.Choice{{Key: leaveStop, Does: "stop the jobs"}, {Key: leaveAlone, Does: "leave them running"}}
	leaveClusterSoon = []screen.Choice{{Key: leaveAlone, Does: "do not wait for the end"}}
)

// leaving passes what the user decides on the screen to the loop that follows the jobs,
// like Ctrl-C and an answer in the plain view.
type leaving struct {
	signals chan os.Signal
	answers chan string
	left    *source.LeftError // how the screen was left; nil: it was not
	failure error             // of the loop, for another reason
}

// Ask does nothing: the screen has asked before it sends the signal.
func (l *leaving) Ask() {}

// Answers receives the answers of the user.
func (l *leaving) Answers() <-chan string { return l.answers }

// Close does nothing.
func (l *leaving) Close() {}

// pass passes a signal to the loop and then, in case it asks, an answer.
func (l *leaving) pass(ctx context.Context, s *uiSession, sig os.Signal, answer string) {
	s.start(func() {
		select {
		case l.signals <- sig:
		case <-ctx.Done():
			return
		}
		select {
		case l.answers <- answer:
		case <-ctx.Done():
		}
	})
}

// choose carries out a choice of the user.
func (l *leaving) choose(ctx context.Context, s *uiSession, choice string) {
	if choice == leaveStop {
		s.own.stopping = true
		s.model.SetLeave(leaveClusterSoon)
	}
	l.pass(ctx, s, os.Interrupt, choice)
}

// over notes how the loop has ended, and reports whether the user has left the jobs.
func (l *leaving) over(err error) bool {
	left, ok := errors.AsType[*source.LeftError](err)
	if l.left = left; !ok {
		l.failure = err
	}
	return ok
}

// onScreen shows jobs that were registered on the full screen, until they have ended or
// the user leaves. It decides what the plain view decides.
func (r *clusterRun) onScreen(ctx context.Context, past []event.Event, p verdict.Policy, began time.Time) error {
	signals, unwatch := r.a.Signals()
	defer unwatch()
	p.Outlives, p.First = true, verdict.Ask
	v := verdict.New(p, r.apiJobs(), past...)
	l := &leaving{signals: make(chan os.Signal), answers: make(chan string)}
	r.run.Silent = true
	server, job := r.jobs[0].server, *r.jobs[0].job.ID
	if len(r.jobs) > 1 {
		job = "" // the screen selects tasks of all
	}
	s := &uiSession{a: r.a, at: r.at, server: server, outputs: clusterOutputs(server, job), inspect: r.run.Inspect, own: &ownRun{caught: signals, remote: l}}
	s.loop = &source.Loop{Source: r.run, Screen: s, Decider: v, Signals: l.signals, Codes: console.StopSignals, Question: l}
	if p.Timeout > 0 {
		s.loop.Timeout = max(1, p.Timeout-time.Since(began))
	}
	where := r.where()
	if !r.agent {
		where = server.String()
	}
	err := s.show(ctx, r.run, screen.Options{
		Jobs: r.apiJobs(), Past: past, Title: strings.Join(r.names(), ", ") + " in " + where, Leave: leaveCluster,
	})
	switch {
	case err != nil:
		return err
	case l.left != nil:
		r.a.Say("%s", r.goesOn())
		return exit.Silent(l.left.Code)
	case l.failure != nil:
		hint := strings.TrimPrefix(client.Remedy(l.failure)+"\n"+r.goesOn(), "\n")
		return (&exit.Error{Code: verdict.Internal, Err: l.failure}).WithHint("%s", hint)
	}
	if err := r.unplaced(v); err != nil {
		return err
	}
	r.a.Say("the run has ended: %s", cmp.Or(v.Cause.Text, strings.Join(r.names(), ", ")+" ended"))
	return exit.Silent(v.Code())
}
