package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
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
	w := &waiting{Ready: verdict.NewReady(jobs, opts.until, time.Time{})}
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
	failure := <-decided
	if closing := f.close(); closing != nil {
		return closing
	}
	switch {
	case failure == nil:
		return nil
	case !errors.Is(failure, errUndecided):
		return (&exitError{code: exitFailed, err: failure}).withHint("the run goes on if it can: taskrun attach %s; what taskrun had to say is in %s", v.jobs[0], v.log(v.jobs[0]))
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

// waiting follows events until it is decided whether jobs are ready.
type waiting struct {
	*verdict.Ready
	say func(text string) // for notices; nil: they are not told
}

// run returns nil when all is as it should be, and else why it never will.
func (w *waiting) run(ctx context.Context, sub *event.Subscription) error {
	defer sub.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := each(ctx, sub)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Stop()
		if at, ok := w.Due(); ok {
			timer.Reset(time.Until(at))
		}
		if failure, decided := w.Decided(); decided {
			return failure
		}
		select {
		case e, ok := <-events:
			if !ok {
				return errUndecided
			}
			if n, ok := e.Body.(event.Notice); ok && w.say != nil {
				w.say(n.Text)
			}
			w.Observe(e)
		case now := <-timer.C:
			w.Tick(now)
		}
	}
}

// each hands on events until there are no more or ctx ends.
func each(ctx context.Context, from *event.Subscription) <-chan event.Event {
	events := make(chan event.Event)
	go func() {
		defer close(events)
		for e, ok := from.Next(ctx); ok; e, ok = from.Next(ctx) {
			select {
			case events <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events
}
