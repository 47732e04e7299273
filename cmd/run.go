package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// sweepTime is how long the engine may look for what tasks left behind.
const sweepTime = 10 * time.Second

// giveUpTime is how long a run that is killed may take to end. What has not
// ended by then is left to the keeper, which kills it from outside.
const giveUpTime = 15 * time.Second

// errGivenUp is why a run ends that was killed and did not end.
var errGivenUp = fmt.Errorf("the engine has not ended %v after the kill; what is left of the run is killed from outside", giveUpTime)

// readTime is how long a reader of stdout may still take when the run was
// killed.
const readTime = time.Second

// run is a run of jobs. Two goroutines follow the events:
// one shows them, and may have to wait for whoever reads stdout; the other
// decides, and waits for nobody.
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
	impatient  <-chan time.Time // once the run is killed: it is to have ended
	givenUp    bool
}

// screen is where a run is shown.
type screen interface {
	Run(ctx context.Context, events *event.Subscription)
	Say(text string)
	Broken() <-chan error
	End(ui.Result)
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

// run runs jobs until they have ended and returns the exit code. On error they
// were not started.
func (r *run) run(ctx context.Context, jobs []*api.Job) (int, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run ends by its signals
	defer cancel()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	shown, decided := r.engine.Subscribe(!r.detached), r.engine.Subscribe(false)
	if err := r.start(jobs); err != nil {
		shown.Close()
		decided.Close()
		r.takeNoOrders()
		return 0, errors.Join(err, r.closeAll(ctx))
	}
	if r.serve != nil && r.resume == nil {
		r.serve()
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.display.Run(ctx, shown)
	}()
	events := each(ctx, decided)
	failure := errors.Join(r.follow(ctx, events), r.failure)
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
	return r.end(over), nil
}

// closeAll ends what was not begun.
func (r *run) closeAll(ctx context.Context) error {
	err := r.close(ctx)
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
	if d := r.verdict.Timeout; d > 0 {
		timeout = time.After(d - time.Since(r.began))
	}
	until := time.NewTimer(time.Hour)
	defer until.Stop()
	defer time.AfterFunc(quietTime, collectAsUsual).Stop()
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	quiet.Stop()
	ended, closed := r.engine.Done(), make(chan error, 1)
	for {
		until.Stop()
		if at, ok := r.verdict.Due(); ok {
			until.Reset(time.Until(at))
		}
		select {
		case e, ok := <-events:
			if !ok {
				return <-closed
			}
			if state, ok := e.Body.(event.TaskState); ok && state.State == "running" {
				quiet.Reset(quietTime)
			}
			r.obey(r.verdict.Observe(e))
		case now := <-until.C:
			r.obey(r.verdict.Tick(now))
		case <-quiet.C:
			debug.FreeOSMemory()
		case <-timeout:
			r.obey(r.verdict.Overdue())
		case err := <-r.display.Broken():
			r.obey(r.verdict.Closed(err))
		case sig := <-r.signals:
			r.obey(r.verdict.Signal(sig, stopSignals[sig]))
		case order := <-r.orders:
			r.obey(r.verdict.Ordered(order))
		case <-r.impatient:
			r.givenUp = true
			return errGivenUp
		case <-ended:
			ended = nil
			go func() { closed <- r.close(ctx) }()
		}
	}
}

// close ends the engine, and with it the events. What it cannot clean up its
// keeper goes on with.
func (r *run) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	return r.engine.Close(ctx)
}

func (r *run) obey(a verdict.Action, say string) {
	r.remember()
	switch a {
	case verdict.CarryOn:
		if say == "" {
			return
		}
	case verdict.Stop:
		go r.engine.Stop() // which keeps the order on disk, and must not hold up a signal
	case verdict.Kill:
		if r.impatient == nil {
			r.impatient = time.After(giveUpTime)
		}
		go r.engine.Kill()
	}
	r.display.Say(say)
}

// end shows how the run ended and returns the exit code. Nothing runs any
// more: what may still take time is a reader of stdout. Who wants to kill the
// run does not want to wait for that.
func (r *run) end(over <-chan struct{}) int {
	var impatient <-chan time.Time
	if r.verdict.Killed() || r.givenUp {
		impatient = time.After(readTime)
	}
	select {
	case <-over:
	case <-impatient:
		return r.verdict.Code()
	case sig := <-r.signals:
		r.verdict.Signal(sig, stopSignals[sig])
		return r.verdict.Code()
	}
	r.lookAtStdout()
	r.display.End(ui.Result{ExitCode: r.verdict.Code(), Cause: r.verdict.Cause.Text, Time: time.Now()})
	r.lookAtStdout()
	return r.verdict.Code()
}

// lookAtStdout takes in that stdout was closed at the very end.
func (r *run) lookAtStdout() {
	select {
	case err := <-r.display.Broken():
		r.verdict.Closed(err)
	default:
	}
}
