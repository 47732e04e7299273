package cmd

import (
	"cmp"
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
	"taskrun/cmd/ui/view"
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

	alone bool // the jobs are only looked at, and never stopped
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
func (r *clusterRun) show(ctx context.Context, past []event.Event, p verdict.Policy, options view.Options) error {
	options.Jobs, options.Past, options.Version = r.apiJobs(), past, currentVersion().Version
	options.Address = r.jobs[0].server.Address
	signals, unwatch := r.signals()
	defer unwatch()
	p.Outlives = true
	display := view.New(r.streams, options)
	loop := &source.Loop{Source: r.run, Screen: display, Output: true, Signals: signals, Codes: stopSignals}
	if !r.alone && r.streams.InTerm && r.streams.ErrTerm {
		p.First, loop.Question = verdict.Ask, &question{streams: r.streams, run: r.run, jobs: r.ids()}
	}
	v := verdict.New(p, options.Jobs, past...)
	loop.Decider = v
	if p.Timeout > 0 {
		loop.Timeout = max(1, p.Timeout-time.Since(options.Begin))
	}
	lost := loop.Run(ctx)
	shown := loop.Shown(ctx)
	var left *source.LeftError
	switch {
	case errors.As(lost, &left):
		r.farewell(options.Mode)
		return silent(left.Code)
	case !shown:
		return silent(cmp.Or(v.Left(), v.Code()))
	case lost != nil:
		return (&exitError{code: exitInternal, err: lost}).withHint("%s", joined(client.Remedy(lost), r.goesOn()))
	}
	if err := r.unplaced(v); err != nil {
		return err
	}
	display.End(resultOf(v))
	select {
	case err := <-display.Broken():
		return err
	default:
	}
	return silent(v.Code())
}

// unplaced is the error of a run of which nothing was: a cluster does not run a
// batch job again that has ended in it, unless that has changed.
func (r *clusterRun) unplaced(v *verdict.Verdict) error {
	if len(v.Run.Allocs) > 0 || v.Stopping() {
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
