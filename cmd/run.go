package cmd

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/event"
	"taskrun/jobspec"
)

// sweepTime is how long the engine may look for what tasks left behind.
const sweepTime = 10 * time.Second

// readTime is how long a reader of stdout may still take when the run was
// killed.
const readTime = time.Second

// run is a run of jobs in the foreground. Two goroutines follow the events:
// one shows them, and may have to wait for whoever reads stdout; the other
// decides, and waits for nobody.
type run struct {
	engine  *engine.Engine
	watch   *keeper.Watch
	display *ui.Display
	verdict *verdict
	signals <-chan os.Signal
	now     bool // periodic jobs are launched at once
}

// run runs jobs until they have ended and returns the exit code. On error they
// were not started.
func (r *run) run(ctx context.Context, jobs []*api.Job) (int, error) {
	ctx = context.WithoutCancel(ctx) // a run ends by its signals
	shown, decided := r.engine.Subscribe(true), r.engine.Subscribe(false)
	if err := r.engine.Submit(jobs...); err != nil {
		shown.Close()
		decided.Close()
		return 0, errors.Join(err, r.close(ctx))
	}
	if r.now {
		r.launch(jobs)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.display.Run(ctx, shown)
	}()
	events := make(chan event.Event)
	go func() {
		defer close(events)
		for e, ok := decided.Next(ctx); ok; e, ok = decided.Next(ctx) {
			events <- e
		}
	}()
	if err := r.follow(ctx, events); err != nil {
		r.verdict.broke(err)
	}
	return r.end(over), nil
}

// say tells of what was found wrong with the stand-ins during the run.
func (r *run) say(problems jobspec.Problems) {
	for _, p := range problems {
		r.display.Say(p.Error())
	}
}

// launch runs the periodic jobs once.
func (r *run) launch(jobs []*api.Job) {
	for _, j := range jobs {
		if !j.IsPeriodic() {
			continue
		}
		if _, err := r.engine.Launch(*j.ID); err != nil {
			r.display.Say(err.Error()) // the run is being stopped already
		}
	}
}

// follow carries out what the verdict wants until there are no more events.
// The error tells what the engine could not clean up.
func (r *run) follow(ctx context.Context, events <-chan event.Event) error {
	var timeout <-chan time.Time
	if d := r.verdict.timeout; d > 0 {
		timeout = time.After(d)
	}
	until := time.NewTimer(time.Hour)
	defer until.Stop()
	ended, closed := r.engine.Done(), make(chan error, 1)
	for {
		until.Stop()
		if at, ok := r.verdict.due(); ok {
			until.Reset(time.Until(at))
		}
		select {
		case e, ok := <-events:
			if !ok {
				return <-closed
			}
			r.obey(r.verdict.observe(e))
		case now := <-until.C:
			r.obey(r.verdict.tick(now))
		case <-timeout:
			r.obey(r.verdict.overdue())
		case err := <-r.display.Broken():
			r.obey(r.verdict.closed(err))
		case sig := <-r.signals:
			r.obey(r.verdict.signal(sig))
		case <-ended:
			ended = nil
			go func() { closed <- r.close(ctx) }()
		}
	}
}

// close ends the engine, and with it the events. What the engine cannot clean
// up its keeper goes on with.
func (r *run) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	err := r.engine.Close(ctx)
	return errors.Join(err, r.watch.Close(err == nil))
}

func (r *run) obey(a action, say string) {
	switch a {
	case carryOn:
		return
	case stopRun:
		r.engine.Stop()
	case killRun:
		r.engine.Kill()
	}
	r.display.Say(say)
}

// end shows how the run ended and returns the exit code. Nothing runs any
// more: what may still take time is a reader of stdout. Who wants to kill the
// run does not want to wait for that.
func (r *run) end(over <-chan struct{}) int {
	var impatient <-chan time.Time
	if r.verdict.killed() {
		impatient = time.After(readTime)
	}
	select {
	case <-over:
	case <-impatient:
		return r.verdict.code()
	case sig := <-r.signals:
		r.verdict.signal(sig)
		return r.verdict.code()
	}
	r.lookAtStdout()
	r.display.End(ui.Result{ExitCode: r.verdict.code(), Cause: r.verdict.cause.text, Time: time.Now()})
	r.lookAtStdout()
	return r.verdict.code()
}

// lookAtStdout takes in that stdout was closed at the very end.
func (r *run) lookAtStdout() {
	select {
	case err := <-r.display.Broken():
		r.verdict.closed(err)
	default:
	}
}
