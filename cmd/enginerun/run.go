// Package enginerun runs jobs by an engine of this process until they have ended: in
// view of the user, in virtual time, or in the background, where one engine after the
// other may have the run.
package enginerun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/bubble"
	"taskrun/cmd/ci"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/host"
	"taskrun/cmd/record"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/jobspec"
)

// Run is a run of jobs by an engine in this process.
type Run struct {
	engine   *engine.Engine
	watch    *keeper.Watch
	display  Screen
	verdict  *verdict.Verdict
	signals  <-chan os.Signal
	orders   chan bool     // from clients: true is to kill the run
	over     chan struct{} // closed when no more orders are taken
	began    time.Time
	socket   string // of its API; empty: none
	now      bool   // periodic jobs are launched at once
	virtual  bool   // in virtual time
	warnings int    // about its jobs
	reports  *ci.Reporter
	result   view.Result                       // how it ended
	serve    func()                            // lets clients connect; nil without an API
	shared   bool                              // the watch belongs to the caller
	follow   Follower                          // may be nil
	specs    func() (map[string][]byte, error) // the jobs without their secrets, by ID

	// Of a run in the background.
	detached bool
	start    func(jobs []*api.Job) error // instead of submitAndServe
	decided  func()                      // called before anything is done
	dirs     map[string]string           // of its earlier engines, by job
	failure  error                       // why the work of an earlier engine could not be continued
}

// Follower follows the files of a run until ctx has ended or the engine stops.
type Follower func(ctx context.Context, e *engine.Engine)

// Screen is where a run is shown.
type Screen interface {
	source.Screen
	End(view.Result)
}

// Run runs jobs until they have ended and returns the exit code. On error they
// were not started.
func (r *Run) Run(ctx context.Context, jobs []*api.Job) (int, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run ends by its signals
	defer cancel()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	busy := func() {}
	if !r.virtual {
		defer time.AfterFunc(garbage.QuietTime, garbage.CollectAsUsual).Stop()
		tidier := garbage.NewTidier() // gives back what starting tasks took
		defer tidier.Stop()
		busy = tidier.Busy
	}
	loop := &source.Loop{
		Source: r.source(), Decider: r.verdict, Screen: r.display, Output: !r.detached,
		Signals: r.signals, Codes: console.StopSignals, Orders: r.orders, Decided: r.decided,
		Seen: func(e event.Event) {
			if state, ok := e.Body.(event.TaskState); ok && state.State == "running" {
				busy()
			}
		},
	}
	if d := r.verdict.Timeout; d > 0 {
		loop.Timeout = max(1, d-time.Since(r.began))
		if r.virtual {
			loop.Timeout++ // all that happens at this instant comes before
		}
	}
	if r.shared {
		loop.Say = func(string) {} // the caller stops it, and says why
	}
	loop.Begin()
	start := r.start
	if start == nil {
		start = r.submitAndServe
	}
	if err := start(jobs); err != nil {
		loop.Close()
		r.takeNoOrders()
		r.result.Time = time.Now()
		return 0, errors.Join(err, r.abandon(ctx))
	}
	kept := make(chan error, 1)
	go func() { kept <- r.keepJobs() }() // no task waits for it
	endFollow := r.beginFollow(ctx)
	lost := loop.Run(ctx)
	failure := errors.Join(lost, r.failure)
	endFollow()
	r.takeNoOrders()
	if failure != nil && !r.verdict.Broke(failure) && lost != nil {
		r.display.Say(lost.Error()) // the other failure was told when it happened
	}
	if err := errors.Join(<-kept, r.writeRecords(jobs)); err != nil {
		r.display.Say(err.Error())
	}
	if err := r.closeWatch(failure == nil); err != nil {
		r.verdict.Broke(err)
	}
	if loop.Shown(ctx) { // everything has ended: only a reader of stdout may have taken time
		r.lookAtStdout()
		r.reports.CloseSection()
		r.display.End(ResultOf(r.verdict))
		r.lookAtStdout()
	}
	r.result = ResultOf(r.verdict)
	return r.verdict.Code(), nil
}

// beginFollow begins to follow the files of the run, if that is wanted.
func (r *Run) beginFollow(ctx context.Context) (end func()) {
	if r.follow == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.follow(ctx, r.engine)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Ending returns how the run ended, after Run.
func (r *Run) Ending() ci.Ending {
	e := ci.Ending{Run: r.verdict.Run, Began: r.began, Result: r.result, Output: func(string, string) []string { return nil }}
	if d, ok := r.display.(*view.Display); ok {
		e.Output = d.LastOutput
	}
	return e
}

func (r *Run) source() source.Source {
	if r.virtual {
		return source.NewSettled(r.engine, bubble.Settle)
	}
	return source.NewHere(r.engine)
}

// ResultOf returns how a run ends now.
func ResultOf(v *verdict.Verdict) view.Result {
	return view.Result{ExitCode: v.Code(), Cause: v.Cause.Text, User: v.Cause.User, Time: time.Now()}
}

// abandon ends a run that has not begun.
func (r *Run) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, source.SweepTime)
	defer cancel()
	err := r.engine.Close(ctx)
	return errors.Join(err, r.closeWatch(err == nil))
}

// closeWatch ends the watch of a run that is clean or not, see keeper.Watch.
func (r *Run) closeWatch(clean bool) error {
	if r.shared {
		return nil
	}
	return r.watch.Close(clean)
}

// Socket returns the path of the socket of the run's API, or "" without one.
func (r *Run) Socket() string { return r.socket }

// Stop stops or kills the run, as a client has ordered.
func (r *Run) Stop(kill bool) {
	select {
	case r.orders <- kill:
	case <-r.over:
	}
}

// takeNoOrders lets clients know that the run is over.
func (r *Run) takeNoOrders() {
	if r.over != nil {
		close(r.over)
	}
}

// submitAndServe submits the jobs and lets clients in.
func (r *Run) submitAndServe(jobs []*api.Job) error {
	if err := r.submit(jobs); err != nil {
		return err
	}
	if r.serve != nil {
		r.servePlaced()
	}
	return nil
}

// servePlaced lets clients in once the first allocations are placed. Earlier ones
// would see a job without tasks.
func (r *Run) servePlaced() {
	late := time.AfterFunc(host.PlaceTime, r.serve)
	go func() {
		r.engine.Placed()
		if late.Stop() {
			r.serve()
		}
	}()
}

// submit submits the jobs, and launches periodic ones if that is wanted.
func (r *Run) submit(jobs []*api.Job) error {
	if err := r.engine.Submit(jobs...); err != nil || !r.now {
		return err
	}
	for _, j := range jobs {
		if !j.IsPeriodic() {
			continue
		}
		if _, err := r.engine.Handle(*j.ID).Launch(); err != nil {
			r.display.Say(err.Error()) // the run is being stopped already
		}
	}
	return nil
}

// sayEach shows diagnostics of stubs that the run has found.
func (r *Run) sayEach(diagnostics jobspec.Diagnostics) {
	for _, p := range diagnostics {
		r.display.Say(p.Error())
	}
}

// lookAtStdout takes in that stdout was closed at the very end.
func (r *Run) lookAtStdout() {
	select {
	case err := <-r.display.Broken():
		r.verdict.Closed(err)
	default:
	}
}

// keepJobs writes down the jobs as they were submitted, without their secrets.
func (r *Run) keepJobs() error {
	if r.virtual || r.specs == nil { // a directory in virtual time is removed
		return nil
	}
	specs, err := r.specs()
	dirs := r.engine.RunDirs()
	maps.Copy(dirs, r.dirs)
	for id, text := range specs {
		if dirs[id] != "" {
			err = errors.Join(err, record.WriteJob(dirs[id], text))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot keep the jobs of the run: %w", err)
	}
	return nil
}

// writeRecords writes down how each job ended.
func (r *Run) writeRecords(jobs []*api.Job) error {
	dirs := r.engine.RunDirs()
	maps.Copy(dirs, r.dirs)
	result := ResultOf(r.verdict)
	var errs []error
	for _, j := range jobs {
		dir := dirs[*j.ID]
		if dir == "" {
			continue // it was not begun
		}
		s := view.Summarize(r.verdict.Run, *j.ID, r.began, result, r.warnings, record.LastOutput(dir))
		s.Cause, s.User = result.Cause, result.User
		if err := record.Write(dir, &s); err != nil {
			errs = append(errs, fmt.Errorf("cannot keep how job %q ended: %w", *j.ID, err))
		}
	}
	return errors.Join(errs...)
}

// Refused decides the exit code when the engine refused the jobs.
func Refused(err error, dataDir string) error {
	if held, ok := errors.AsType[*datadir.InUseError](err); ok {
		return exit.Running("%w", err).WithHint("change it with: taskrun update FILE; stop it with: taskrun stop %s; run another one beside it with: taskrun up --data-dir DIR",
			event.JobName(held.JobID))
	}
	if errors.Is(err, port.ErrInUse) {
		return exit.Usage("%w", err).WithHint("stop the program that has it, or give the port another number")
	}
	return exit.ReadOnly(err, dataDir)
}
