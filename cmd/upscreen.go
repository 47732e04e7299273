package cmd

import (
	"cmp"
	"context"
	"os"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

// The keys of the choices of a user who leaves the screen of "up --ui".
const (
	leaveStop  = "s"
	leaveKill  = "K"
	leaveAlone = "l"
)

// The choices while the run is running, and while it is stopping.
var (
	leaveRunning  = []screen.Choice{{Key: leaveStop, Does: "stop the run"}, {Key: leaveAlone, Does: "leave it in the background"}}
	leaveStopping = []screen.Choice{{Key: leaveKill, Does: "kill the run"}, {Key: leaveAlone, Does: "leave it in the background"}}
)

// ownRun is the run of "up --ui", which the user may stop by leaving the screen.
type ownRun struct {
	from     source.Source
	caught   <-chan os.Signal
	stopping bool
	alone    bool     // the user has left it in the background
	code     int      // of the first signal; 0: none
	cause    string   // who has stopped the run first
	remote   *leaving // decides about jobs in a cluster, with caught and stopping; nil: the run is here
}

// signals receives the signals that stop the run.
func (r *ownRun) signals() <-chan os.Signal {
	if r == nil {
		return nil
	}
	return r.caught
}

// signaled stops the run, or kills it the second time. Jobs in a cluster are left.
func (r *ownRun) signaled(ctx context.Context, s *uiSession, sig os.Signal) {
	if r.remote != nil {
		r.remote.pass(ctx, s, sig, leaveAlone)
		return
	}
	if r.code == 0 {
		r.code = console.StopSignals[sig]
		r.cause = cmp.Or(r.cause, sig.String())
	}
	r.stop(ctx, s, r.stopping)
}

// tookOver drops the Ctrl-C that ended a command which had the terminal: it was not
// meant for the run.
func (r *ownRun) tookOver(ctx context.Context, s *uiSession) {
	select {
	case sig := <-r.signals():
		if sig != os.Interrupt {
			r.signaled(ctx, s, sig)
		}
	default:
	}
}

// stop stops the run or kills it. The screen shows the rest, and ends with the run.
func (r *ownRun) stop(ctx context.Context, s *uiSession, kill bool) {
	r.stopping = true
	s.model.SetLeave(leaveStopping)
	s.model.Say("stopping the run: q again to kill it")
	s.start(func() {
		if err := r.from.Stop(ctx, kill); err != nil {
			s.do(ctx, func() { s.model.Fail(err) })
		}
	})
}

// leaves carries out how the user wants to leave, and reports whether the screen ends
// now.
func (s *uiSession) leaves(ctx context.Context, choice string) bool {
	if choice != "" && s.own.remote != nil {
		s.own.remote.choose(ctx, s, choice)
		return false
	}
	switch choice {
	case leaveStop, leaveKill:
		s.own.cause = cmp.Or(s.own.cause, "you stopped it")
		s.own.stop(ctx, s, choice == leaveKill)
		return false
	case leaveAlone:
		s.own.alone = true
	}
	return true
}

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
	s := &uiSession{a: a, at: opts.at, own: &ownRun{from: d, caught: signals}}
	if err := s.ofDirectory(ctx, d, jobfile.Jobs(files)); err != nil {
		return err
	}
	if s.own.alone {
		return reportDetached(ctx, a, jobfile.Jobs(files), opts, d)
	}
	return s.own.result(a, d, jobfile.Jobs(files))
}

// result returns the exit code of the run, which has ended, as an error.
func (r *ownRun) result(a *app, d *source.Directory, jobs []*api.Job) error {
	summary, err := record.Read(d.Self.Runs[*jobs[0].ID])
	if err != nil || summary == nil {
		return err
	}
	reason := summary.Reason
	if reason == verdict.ByClient { // which this process was
		reason = cmp.Or(r.cause, reason)
	}
	a.Say("the run has ended: %s", reason)
	if r.code != 0 && summary.ExitCode != verdict.Failed {
		return exit.Silent(r.code)
	}
	return exit.Silent(summary.ExitCode)
}
