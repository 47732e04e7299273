package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
)

// log is where taskrun's own words about a run in the background are.
func (v *liveRun) log(job string) string { return filepath.Join(v.self.Runs[job], logFile) }

// await waits until a run is as it should be: every deployment successful and,
// of jobs without one, every task running for a while or ended well. A run that
// has ended well is so, too.
func (a *app) await(ctx context.Context, v *liveRun, opts upOptions) error {
	ctx, stop := a.stoppable(ctx)
	defer stop()
	jobs, err := v.submitted(ctx)
	if err != nil {
		if summary, _ := readSummary(v.self.Runs[v.jobs[0]]); summary != nil {
			return v.ended(summary)
		}
		return stopped(ctx, err)
	}
	f, err := v.follow()
	if err != nil {
		return err
	}
	f.silent = true
	w := newWaiting(jobs, opts.until)
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	past, err := f.past()
	if err != nil {
		return errors.Join(err, f.close())
	}
	events := f.bus.Subscribe(false)
	decided := make(chan error, 1)
	go func() {
		err := w.run(ctx, events)
		decided <- err
		enough(errors.New("it was decided"))
	}()
	summary, err := f.run(ctx, past)
	f.bus.Close()
	verdict := <-decided
	if closing := f.close(); closing != nil {
		return closing
	}
	switch {
	case verdict == nil:
		return nil
	case !errors.Is(verdict, errUndecided):
		return (&exitError{code: exitFailed, err: verdict}).withHint("the run goes on if it can: taskrun attach %s; what taskrun had to say is in %s", v.jobs[0], v.log(v.jobs[0]))
	case err != nil:
		var sig *stopError
		if errors.As(context.Cause(ctx), &sig) {
			a.say("the run goes on; stop it with: taskrun stop %s", v.jobs[0])
		}
		return stopped(ctx, err)
	}
	return v.ended(summary)
}

// ended returns the error of a run that has not ended well.
func (v *liveRun) ended(summary *ui.Summary) error {
	if summary.ExitCode == exitOK {
		return nil
	}
	job := v.jobs[0]
	return (&exitError{code: summary.ExitCode, err: fmt.Errorf("job %q has ended with exit code %d", job, summary.ExitCode)}).
		withHint("see: taskrun logs %s; what taskrun had to say is in %s", job, v.log(job))
}

// errUndecided says that the events ended before anything was decided.
var errUndecided = errors.New("the run has ended")

// waiting decides when jobs are as they should be. A verdict does for the jobs
// that have no deployment, another one for those that have.
type waiting struct {
	verdicts []*verdict
	say      func(text string) // for notices; nil: they are not told
}

func newWaiting(jobs []*api.Job, u until) *waiting {
	w := &waiting{}
	var healthy, running []*api.Job
	for _, j := range jobs {
		switch {
		case j.IsPeriodic() || j.IsParameterized(): // what runs in its name comes when it comes
		case health.NewDeployment(j, time.Time{}) != nil && health.ByHand(j) == "" && u.running == 0:
			healthy = append(healthy, j)
		default:
			running = append(running, j)
		}
	}
	if u.running == 0 {
		u.running = untilRunning
	}
	if len(healthy) > 0 {
		w.verdicts = append(w.verdicts, newVerdict(policy{healthy: true}, healthy))
	}
	if len(running) > 0 {
		w.verdicts = append(w.verdicts, newVerdict(policy{until: u.running}, running))
	}
	return w
}

func (w *waiting) observe(e event.Event) {
	if n, ok := e.Body.(event.Notice); ok && w.say != nil {
		w.say(n.Text)
	}
	for _, v := range w.verdicts {
		if v.concerns(e) {
			v.observe(e)
		}
	}
}

// failed reports whether something has, when nothing runs any more.
func (w *waiting) failed() bool {
	return slices.ContainsFunc(w.verdicts, (*verdict).failed)
}

// run returns nil when all is as it should be, and else why it never will.
func (w *waiting) run(ctx context.Context, sub *event.Subscription) error {
	defer sub.Close()
	events := make(chan event.Event)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(events)
		for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		done := true
		timer.Stop()
		for _, v := range w.verdicts {
			if at, ok := v.due(); ok {
				timer.Reset(time.Until(at))
			}
			if v.cause.text == "" {
				done = false
			} else if v.cause.code != exitOK {
				return errors.New(v.cause.text)
			}
		}
		if done {
			return nil
		}
		select {
		case e, ok := <-events:
			if !ok {
				return errUndecided
			}
			w.observe(e)
		case now := <-timer.C:
			for _, v := range w.verdicts {
				v.tick(now)
			}
		}
	}
}

// concerns reports whether an event is about one of the jobs.
func (v *verdict) concerns(e event.Event) bool {
	for _, j := range v.run.Jobs {
		if d, ok := e.Body.(event.Deployment); ok && d.Job == *j.ID || e.Alloc != nil && e.Alloc.Of(*j.ID) {
			return true
		}
	}
	return false
}
