package onscreen

import (
	"cmp"
	"context"
	"errors"
	"os"

	"taskrun/cmd/console"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
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

// signals receives the signals that stop the run.
func (r *OwnRun) signals() <-chan os.Signal {
	if r == nil {
		return nil
	}
	return r.Caught
}

// signaled stops the run, or kills it the second time. Jobs in a cluster are left.
func (r *OwnRun) signaled(ctx context.Context, s *Session, sig os.Signal) {
	if r.Remote != nil {
		r.Remote.pass(ctx, s, sig, leaveAlone)
		return
	}
	if r.Code == 0 {
		r.Code = console.StopSignals[sig]
		r.Cause = cmp.Or(r.Cause, sig.String())
	}
	r.stop(ctx, s, r.stopping)
}

// tookOver drops the Ctrl-C that ended a command which had the terminal: it was not
// meant for the run.
func (r *OwnRun) tookOver(ctx context.Context, s *Session) {
	select {
	case sig := <-r.signals():
		if sig != os.Interrupt {
			r.signaled(ctx, s, sig)
		}
	default:
	}
}

// stop stops the run or kills it. The screen shows the rest, and ends with the run.
func (r *OwnRun) stop(ctx context.Context, s *Session, kill bool) {
	r.stopping = true
	s.model.SetLeave(leaveStopping)
	s.model.Say("stopping the run: q again to kill it")
	s.start(func() {
		if err := r.From.Stop(ctx, kill); err != nil {
			s.do(ctx, func() { s.model.Fail(err) })
		}
	})
}

// leaves carries out how the user wants to leave, and reports whether the screen ends
// now.
func (s *Session) leaves(ctx context.Context, choice string) bool {
	if choice != "" && s.Own.Remote != nil {
		s.Own.Remote.choose(ctx, s, choice)
		return false
	}
	switch choice {
	case leaveStop, leaveKill:
		s.Own.Cause = cmp.Or(s.Own.Cause, "you stopped it")
		s.Own.stop(ctx, s, choice == leaveKill)
		return false
	case leaveAlone:
		s.Own.Alone = true
	}
	return true
}

// The choices of a user who leaves the screen of "up --ui" while a cluster runs the
// jobs, and while they are stopping.
var (
	LeaveCluster     = []screen.Choice{{Key: leaveStop, Does: "stop the jobs"}, {Key: leaveAlone, Does: "leave them running"}}
	leaveClusterSoon = []screen.Choice{{Key: leaveAlone, Does: "do not wait for the end"}}
)

// Ask does nothing: the screen has asked before it sends the signal.
func (l *Leaving) Ask() {}

// Answers receives the answers of the user.
func (l *Leaving) Answers() <-chan string { return l.answers }

// Close does nothing.
func (l *Leaving) Close() {}

// pass passes a signal to the loop and then, in case it asks, an answer.
func (l *Leaving) pass(ctx context.Context, s *Session, sig os.Signal, answer string) {
	s.start(func() {
		select {
		case l.Signals <- sig:
		case <-ctx.Done():
			return
		}
		select {
		case l.answers <- answer:
		case <-ctx.Done():
		}
	})
}

func (l *Leaving) choose(ctx context.Context, s *Session, choice string) {
	if choice == leaveStop {
		s.Own.stopping = true
		s.model.SetLeave(leaveClusterSoon)
	}
	l.pass(ctx, s, os.Interrupt, choice)
}

// over notes how the loop has ended, and reports whether the user has left the jobs.
func (l *Leaving) over(err error) bool {
	left, ok := errors.AsType[*source.LeftError](err)
	if l.Left = left; !ok {
		l.Failure = err
	}
	return ok
}
