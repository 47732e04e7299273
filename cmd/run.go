package cmd

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// run is a run of jobs in this process.
type run struct {
	engine  *engine.Engine
	watch   *keeper.Watch
	display screen
	verdict *verdict.Verdict
	signals <-chan os.Signal
	orders  chan bool     // from clients: true is to kill the run
	over    chan struct{} // closed when nobody takes orders any more
	began   time.Time
	now     bool   // periodic jobs are launched at once
	serve   func() // lets clients in; nil: there are none

	// Of a run in the background.
	detached bool
	memory   *os.File          // outlives the engine; nil for a run that does not
	resume   func() error      // instead of submitting the jobs
	stands   func(error) error // reports whether the run stands
	dirs     map[string]string // of the runs, by job
	dataDir  string
	reached  reached
	failure  error // what could not be gone on with

	remembered verdict.Cause
}

// screen is where a run is shown.
type screen interface {
	source.Screen
	End(view.Result)
}

// run runs jobs until they have ended and returns the exit code. On error they
// were not started.
func (r *run) run(ctx context.Context, jobs []*api.Job) (int, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run ends by its signals
	defer cancel()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	defer time.AfterFunc(quietTime, collectAsUsual).Stop()
	quiet := time.AfterFunc(quietTime, debug.FreeOSMemory) // gives back what starting tasks took
	defer quiet.Stop()
	loop := &source.Loop{
		Source: source.NewHere(r.engine), Decider: r.verdict, Screen: r.display, Output: !r.detached,
		Signals: r.signals, Codes: stopSignals, Orders: r.orders, Decided: r.remember,
		Seen: func(e event.Event) {
			if state, ok := e.Body.(event.TaskState); ok && state.State == "running" {
				quiet.Reset(quietTime)
			}
		},
	}
	if d := r.verdict.Timeout; d > 0 {
		loop.Timeout = max(1, d-time.Since(r.began))
	}
	loop.Begin()
	if err := r.start(jobs); err != nil {
		loop.Close()
		r.takeNoOrders()
		return 0, errors.Join(err, r.close(ctx))
	}
	if r.serve != nil && r.resume == nil {
		r.serve()
	}
	failure := errors.Join(loop.Run(ctx), r.failure)
	r.takeNoOrders()
	if failure != nil && !r.verdict.Broke(failure) {
		r.display.Say(failure.Error())
	}
	if err := r.record(jobs); err != nil {
		r.display.Say(err.Error())
	}
	if err := r.watch.Close(failure == nil); err != nil {
		r.verdict.Broke(err)
	}
	if loop.Shown(ctx) { // nothing runs any more: only a reader of stdout may have taken time
		r.lookAtStdout()
		r.display.End(resultOf(r.verdict))
		r.lookAtStdout()
	}
	return r.verdict.Code(), nil
}

// resultOf is how a run ends now.
func resultOf(v *verdict.Verdict) view.Result {
	return view.Result{ExitCode: v.Code(), Cause: v.Cause.Text, User: v.Cause.User, Time: time.Now()}
}

// close ends what was not begun.
func (r *run) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, source.SweepTime)
	defer cancel()
	err := r.engine.Close(ctx)
	return errors.Join(err, r.watch.Close(err == nil))
}

// takeNoOrders tells clients that the run is over.
func (r *run) takeNoOrders() {
	if r.over != nil {
		close(r.over)
	}
}

// start begins the run, or goes on with one that an earlier engine has left.
func (r *run) start(jobs []*api.Job) error {
	if r.resume != nil {
		return r.resume()
	}
	err := r.engine.Submit(jobs...)
	if err == nil && r.now {
		r.launch(jobs)
	}
	if r.stands != nil {
		err = r.stands(err)
	}
	return err
}

// say tells of what was found wrong with the stubs file during the run.
func (r *run) say(diagnostics jobspec.Diagnostics) {
	for _, p := range diagnostics {
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

// lookAtStdout takes in that stdout was closed at the very end.
func (r *run) lookAtStdout() {
	select {
	case err := <-r.display.Broken():
		r.verdict.Closed(err)
	default:
	}
}
