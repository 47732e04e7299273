package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// clusterRun is a run of jobs in a cluster. It is decided upon as a run of this
// machine, but the jobs outlive it: who is interrupted asks whether to stop
// them, or leaves them alone.
type clusterRun struct {
	*app
	run      *cluster.Run
	jobs     []target
	words    string // flags by which another command finds the cluster
	warnings []ui.Diagnostic

	display *ui.Display
	verdict *verdict.Verdict
	mode    ui.Mode
	alone   bool       // the jobs are only looked at, and never stopped
	stops   chan error // how a stop went
	left    error      // why the run was left, nil while it is not
	leave   context.CancelFunc
	question
}

func (r *clusterRun) ids() (ids []string) {
	for _, t := range r.jobs {
		ids = append(ids, *t.job.ID)
	}
	return ids
}

func (r *clusterRun) apiJobs() (jobs []*api.Job) {
	for _, t := range r.jobs {
		jobs = append(jobs, t.job)
	}
	return jobs
}

// stopWords are the commands that stop the jobs.
func (r *clusterRun) stopWords() string {
	return "taskrun stop" + r.words + " " + strings.Join(r.ids(), " && taskrun stop"+r.words+" ")
}

func (r *clusterRun) goesOn() string {
	return fmt.Sprintf("what was registered goes on; stop it with: %s", r.stopWords())
}

// farewell tells who leaves that the jobs go on.
func (r *clusterRun) farewell(mode ui.Mode) {
	if mode == ui.JSON {
		_ = ui.WriteDiagnostic(r.streams.Out, time.Now(), ui.Diagnostic{Severity: "warning", Summary: r.goesOn()}) // there is no other place to tell
		return
	}
	r.say("%s", r.goesOn())
}

// show shows what happens behind the past, and returns the exit code as an
// error, when all has ended or was left.
func (r *clusterRun) show(ctx context.Context, past []event.Event, p verdict.Policy, options ui.Options) error {
	options.Jobs, options.Past, options.Version = r.apiJobs(), past, currentVersion().Version
	options.Address = r.jobs[0].server.Address
	r.mode, r.stops = options.Mode, make(chan error, len(r.jobs))
	p.Outlives = true
	if !r.alone && r.streams.InTerm && r.streams.ErrTerm {
		p.First = verdict.Ask
	}
	r.display, r.verdict = ui.New(r.streams, options), verdict.New(p, options.Jobs, past...)
	shown, decided := r.run.Subscribe(true), r.run.Subscribe(false)
	following, leave := context.WithCancel(ctx)
	defer leave()
	r.leave = leave
	lost := make(chan error, 1)
	go func() {
		err := r.run.Follow(following)
		r.run.Close()
		lost <- err
	}()
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.display.Run(ctx, shown)
	}()
	events := each(ctx, decided)
	r.follow(events, options.Begin)
	err := <-lost
	return r.end(over, err)
}

// follow carries out what the verdict and the user want until there are no more
// events.
func (r *clusterRun) follow(events <-chan event.Event, begin time.Time) {
	signals, unwatch := r.signals()
	defer unwatch()
	var timeout <-chan time.Time
	if d := r.verdict.Timeout; d > 0 {
		timeout = time.After(d - time.Since(begin))
	}
	until := time.NewTimer(time.Hour)
	defer until.Stop()
	for {
		until.Stop()
		if at, ok := r.verdict.Due(); ok {
			until.Reset(time.Until(at))
		}
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			r.obey(r.verdict.Observe(e))
		case now := <-until.C:
			r.obey(r.verdict.Tick(now))
		case <-timeout:
			r.obey(r.verdict.Overdue())
		case err := <-r.display.Broken():
			r.broken(err)
		case sig := <-signals:
			r.interrupted(sig)
		case answer := <-r.answers:
			r.answered(answer)
		case err := <-r.stops:
			if err != nil {
				r.leaveFor(&exitError{code: exitInternal, err: err})
			}
		}
	}
}

func (r *clusterRun) obey(d verdict.Decision) {
	if d.Action == verdict.Stop {
		r.stopJobs()
	}
	if d.Say != "" {
		r.display.Say(d.Say)
	}
}

// stopJobs stops the jobs, and goes on meanwhile.
func (r *clusterRun) stopJobs() {
	for _, t := range r.jobs {
		go func() { r.stops <- t.stop() }()
	}
}

// The pauses between two attempts to stop a job.
const (
	firstStopPause = time.Second
	lastStopPause  = 30 * time.Second
)

// stop stops the job. A cluster that cannot be reached is asked again, for a
// minute.
func (t *target) stop() error {
	for pause := firstStopPause; ; pause *= 2 {
		err := t.server.Deregister(context.Background(), *t.job.ID, client.Deregistration{})
		var refused *client.RefusedError
		if err == nil || errors.As(err, &refused) || pause > lastStopPause {
			return err
		}
		<-time.After(pause)
	}
}

// broken takes in that stdout cannot be written to any more. Nobody looks at
// the jobs now; that is no reason to stop them.
func (r *clusterRun) broken(err error) {
	r.verdict.Closed(err)
	r.leaveFor(silent(r.verdict.Left()))
}

// leaveFor ends the showing, with an error that has the exit code.
func (r *clusterRun) leaveFor(why error) {
	if r.left == nil {
		r.left = why
		r.forget()
		r.leave()
	}
}

// end shows how the run ended, unless it was left.
func (r *clusterRun) end(over <-chan struct{}, lost error) error {
	if r.left != nil {
		select {
		case <-over:
		case <-time.After(source.ReadTime): // a reader of stdout that is slow
		}
		r.farewell(r.mode)
		return r.left
	}
	<-over
	if lost != nil {
		return (&exitError{code: exitInternal, err: lost}).withHint("%s", joined(client.Remedy(lost), r.goesOn()))
	}
	if err := r.unplaced(); err != nil {
		return err
	}
	code := r.verdict.Code()
	r.display.End(ui.Result{ExitCode: code, Cause: r.verdict.Cause.Text, Time: time.Now()})
	select {
	case err := <-r.display.Broken():
		return err
	default:
	}
	return silent(code)
}

// unplaced is the error of a run of which nothing was: a cluster does not run a
// batch job again that has ended in it, unless that has changed.
func (r *clusterRun) unplaced() error {
	if len(r.verdict.Run.Allocs) > 0 || r.verdict.Stopping() {
		return nil
	}
	for _, t := range r.jobs {
		if t.before != nil && *t.job.Type == api.JobTypeBatch {
			return (&exitError{code: exitFailed, err: fmt.Errorf("the cluster has run nothing: job %q has ended there before, and is the same", *t.job.ID)}).
				withHint("to run it again have it forgotten: taskrun stop%s --purge %s", r.words, *t.job.ID)
		}
	}
	return nil
}

// joined puts hints one below the other.
func joined(hints ...string) string {
	return strings.TrimPrefix(strings.Join(hints, "\n"), "\n")
}
