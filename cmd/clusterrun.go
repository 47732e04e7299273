package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ci"
	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/console"
	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/view"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// clusterRun is a run of jobs in a cluster. It ends by the same rules as a run
// on this machine, but the jobs outlive it: a signal either asks whether to
// stop them or leaves them running.
type clusterRun struct {
	a       *app
	run     *cluster.Run
	jobs    []clusterJob
	at      lookup.Connection
	agent   bool // the cluster is an agent of this machine
	alone   bool // only show the jobs, never stop them
	reports *ci.Reporter
}

// nameOf returns the name with which commands find a job.
func (r *clusterRun) nameOf(j clusterJob) string {
	if r.agent {
		return event.JobName(event.JobKey(*j.job.Namespace, *j.job.ID))
	}
	return *j.job.ID
}

// flagsOf returns the flags with which commands find a job.
func (r *clusterRun) flagsOf(j clusterJob) string {
	switch {
	case !r.agent:
		return r.at.WordsFor(j.job)
	case r.at.Flags.Changed("data-dir"):
		return " --data-dir=" + console.ShellWord(r.at.Flags.Lookup("data-dir").Value.String())
	}
	return ""
}

func (r *clusterRun) names() (names []string) {
	for _, j := range r.jobs {
		names = append(names, r.nameOf(j))
	}
	return names
}

// where says what runs the jobs.
func (r *clusterRun) where() string {
	if r.agent {
		return "the agent"
	}
	return "the cluster"
}

func (r *clusterRun) apiJobs() (jobs []*api.Job) {
	for _, j := range r.jobs {
		jobs = append(jobs, j.job)
	}
	return jobs
}

func (r *clusterRun) stopWords() string {
	var commands []string
	for _, j := range r.jobs {
		commands = append(commands, "taskrun stop"+r.flagsOf(j)+" "+r.nameOf(j))
	}
	return strings.Join(commands, " && ")
}

func (r *clusterRun) goesOn() string {
	return fmt.Sprintf("the jobs that were registered continue; stop them with: %s", r.stopWords())
}

// outOfReach returns the error of a run that cannot be followed any longer.
func (r *clusterRun) outOfReach(err error) error {
	hint := strings.TrimPrefix(client.Remedy(err)+"\n"+r.goesOn(), "\n")
	return (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("%s", hint)
}

// farewell tells a user who leaves that the jobs continue.
func (r *clusterRun) farewell(mode ui.Mode) {
	if mode == ui.JSON {
		_ = ui.WriteDiagnostic(r.a.Streams.Out, time.Now(), ui.Diagnostic{Severity: "warning", Summary: r.goesOn()}) // there is nowhere else to report it
		return
	}
	r.a.Say("%s", r.goesOn())
}

// show shows events after the past ones until everything has ended or the user
// leaves, and returns the exit code as an error.
func (r *clusterRun) show(ctx context.Context, past []event.Event, p verdict.Policy, options view.Options) error {
	options.Jobs, options.Past, options.Version = r.apiJobs(), past, currentVersion().Version
	options.Address = r.jobs[0].server.Address
	streams := r.a.Streams
	signals, unwatch := r.a.Signals()
	defer unwatch()
	p.Outlives = true
	display := view.New(streams, options)
	loop := &source.Loop{Source: r.run, Screen: display, Output: true, Signals: signals, Codes: console.StopSignals}
	if !r.alone && streams.InTerm && streams.ErrTerm {
		p.First, loop.Question = verdict.Ask, &stopQuestion{streams: streams, display: display, run: r.run, jobs: r.names(), where: r.where()}
	}
	v := verdict.New(p, options.Jobs, past...)
	loop.Decider = v
	if p.Timeout > 0 {
		loop.Timeout = max(1, p.Timeout-time.Since(options.Begin))
	}
	err := r.toTheEnd(ctx, loop, v, display, options.Mode)
	result := enginerun.ResultOf(v)
	if v.Left() != 0 {
		result.Cause, result.User = "taskrun has left the run, which continues", true
	}
	return r.reports.Ended(ci.Ending{Run: v.Run, Began: options.Begin, Result: result, Output: display.LastOutput}, err)
}

// toTheEnd follows the run and shows how it ended.
func (r *clusterRun) toTheEnd(ctx context.Context, loop *source.Loop, v *verdict.Verdict, display *view.Display, mode ui.Mode) error {
	lost := loop.Run(ctx)
	shown := loop.Shown(ctx)
	left, wasLeft := errors.AsType[*source.LeftError](lost)
	switch {
	case wasLeft:
		r.farewell(mode)
		return exit.Silent(left.Code)
	case !shown:
		return exit.Silent(cmp.Or(v.Left(), v.Code()))
	case lost != nil:
		return r.outOfReach(lost)
	}
	if err := r.unplaced(v); err != nil {
		return err
	}
	r.reports.CloseSection()
	display.End(enginerun.ResultOf(v))
	select {
	case err := <-display.Broken():
		return err
	default:
	}
	return exit.Silent(v.Code())
}

// unplaced returns an error if the run has no allocations because the cluster
// does not repeat an unchanged batch job that has ended.
func (r *clusterRun) unplaced(v *verdict.Verdict) error {
	if len(v.Run.Allocs) > 0 || v.Stopping() {
		return nil
	}
	for _, j := range r.jobs {
		if j.before != nil && *j.job.Type == api.JobTypeBatch {
			return exit.Failed("%s did not run job %q: the same job has already ended there", r.where(), r.nameOf(j)).
				WithHint("to run it again, purge it first: taskrun stop%s --purge %s", r.flagsOf(j), r.nameOf(j))
		}
	}
	return nil
}

// waitReady waits until the jobs are ready. It never stops them.
func (r *clusterRun) waitReady(ctx context.Context, past []event.Event, opts upOptions) error {
	ctx, stop := r.a.Stoppable(ctx)
	defer stop()
	if opts.timeout > 0 {
		overdue := &exit.Error{Code: verdict.Timeout, Err: fmt.Errorf("the timeout of %v has passed", opts.timeout)}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.timeout, overdue)
		defer cancel()
	}
	r.run.Silent = true
	since := time.Time{}
	if opts.update {
		since = time.Now()
	}
	ready := verdict.NewReady(r.apiJobs(), opts.until, since, past...)
	loop := &source.Loop{Source: r.run, Decider: ready}
	if opts.mode == ui.Plain {
		loop.Screen = noticesOf(r.a)
	}
	err := follow(ctx, loop)
	failure, decided := ready.Decided()
	switch {
	case decided && failure != nil:
		return exit.Failed("%w", failure).WithHint("%s", r.goesOn())
	case decided:
		return nil
	case ctx.Err() != nil:
		r.farewell(opts.mode)
		return exit.Stopped(ctx, err)
	case err != nil:
		return (&exit.Error{Code: verdict.Internal, Err: err}).WithHint("%s", r.goesOn())
	case ready.Failed(): // everything has ended
		return exit.Failed("the run has failed")
	}
	return nil
}

// stopQuestion asks a user on a terminal whether to stop jobs of a cluster. It
// holds events back until the question is closed.
type stopQuestion struct {
	streams *ui.Streams
	display *view.Display
	run     *cluster.Run
	jobs    []string
	where   string
	open    bool
	answers chan string
}

// Ask prints the question. The answer arrives on Answers.
func (q *stopQuestion) Ask() {
	q.open = true
	q.run.Hold()
	q.display.HideLine()
	text := fmt.Sprintf("stop %s in %s (s), leave it running (l), or continue watching (Enter)? ", strings.Join(q.jobs, ", "), q.where)
	fmt.Fprintf(q.streams.Err, "\r%s", visible.String(text))
	if q.answers == nil {
		q.answers = make(chan string)
		go q.read()
	}
}

// read reads the answers. One goroutine serves all questions, because a read
// from a terminal cannot be interrupted.
func (q *stopQuestion) read() {
	for {
		line, err := q.streams.ReadLine()
		if err != nil {
			line = "l" // no answer will come
		}
		q.answers <- line
		if err != nil {
			return
		}
	}
}

// Answers receives the user's answers.
func (q *stopQuestion) Answers() <-chan string { return q.answers }

// Close ends the question and shows the events held back.
func (q *stopQuestion) Close() {
	if q.open {
		q.open = false
		q.run.Resume()
		q.display.ShowLine()
	}
}
