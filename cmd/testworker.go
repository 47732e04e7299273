package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/bubble"
	"taskrun/cmd/garbage"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/assert"
	"taskrun/cmd/jobtest/play"
	"taskrun/cmd/jobtest/results"
	"taskrun/cmd/jobtest/snapshot"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/cmd/jobtest/worker"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec"
)

// workerGrace is how long workers may take to end after Ctrl-C: those with real tasks
// stop them.
const workerGrace = 30 * time.Second

func playTests(ctx context.Context, a *app, opts testOptions, v *results.View, runs []results.Planned, dirs testDirs) error {
	program, err := keeper.Program()
	if err != nil {
		return err
	}
	args := []string{"taskrun", "test-worker"}
	if a.configFile != "" {
		args = append(args, "--config="+a.configFile)
	}
	orders := make([]worker.Order, len(runs))
	for i, p := range runs {
		orders[i] = worker.Order{
			File: p.File.Path, Run: p.Run.Name, Seed: uint64(opts.seed), Real: p.Run.Mode == jobtest.Real,
			Dir: dirs.of(p.Run.Mode), Events: opts.verbose || p.Run.Snapshot != "",
			Vars: opts.Vars, VarFiles: opts.VarFiles, SecretVars: opts.secretVars(),
		}
	}
	pool := worker.Pool{
		Size: runtime.GOMAXPROCS(0), Grace: workerGrace,
		New:  func() *exec.Cmd { return &exec.Cmd{Path: program, Args: args, Env: a.Environ} },
		Died: func() { sweepDead(ctx, a, false) },
	}
	return pool.Play(ctx, orders, func(i int, r worker.Result) bool {
		p := runs[i]
		for j := range r.Failures {
			if r.Failures[j].Range.IsZero() {
				r.Failures[j].Range = jobspec.RangeOf(p.Run.Range)
			}
		}
		if p.Run.Snapshot != "" && len(r.Events) > 0 {
			r.Failures = append(r.Failures, checkSnapshot(p, opts, r.Events)...)
		}
		return v.Take(i, r)
	})
}

// checkSnapshot compares the events of a run with its snapshot, or stores them.
func checkSnapshot(p results.Planned, opts testOptions, events []timeline.Event) []worker.Failure {
	text := snapshot.Text(uint64(opts.seed), events)
	d := jobspec.Diagnostic{Range: jobspec.RangeOf(p.Run.Range)}
	if opts.update {
		if _, err := snapshot.Update(p.File.Path, p.Run.Snapshot, text); err != nil {
			d.Summary = err.Error()
			return []worker.Failure{{Diagnostic: d}}
		}
		return nil
	}
	diff, err := snapshot.Compare(p.File.Path, p.Run.Snapshot, text)
	switch {
	case errors.Is(err, snapshot.ErrMissing):
		d.Summary, d.Remedy = fmt.Sprintf("there is no snapshot %q", p.Run.Snapshot), "store it with --update-snapshots, and commit it"
	case err != nil:
		d.Summary = err.Error()
	case diff != "":
		d.Summary, d.Remedy = fmt.Sprintf("the events differ from snapshot %q", p.Run.Snapshot), "if that is meant, store them with --update-snapshots"
	default:
		return nil
	}
	return []worker.Failure{{Diagnostic: d, Diff: diff}}
}

// newTestWorkerCommand is a worker of "taskrun test".
func newTestWorkerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "test-worker", Short: "Play runs of job tests, which stdin names", Hidden: true, Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			garbage.CollectRarely()
			return worker.Serve(cmd.Context(), a.Streams.In, a.Streams.Out, (&testWorker{app: a}).play)
		},
	}
}

// testWorker plays the runs of test files, of which it keeps the latest.
type testWorker struct {
	*app

	player *play.Player
	file   *jobtest.File
}

func (w *testWorker) play(ctx context.Context, o worker.Order) (result worker.Result) {
	began := time.Now()
	defer func() {
		result.Took = time.Since(began)
		result.Last = result.Last || o.Real // drivers that were shut down start nothing
	}()
	if w.player == nil || w.player.Dir != o.Dir {
		w.player = w.app.player(jobfile.Options{Vars: o.Vars, VarFiles: o.VarFiles, SecretVars: o.SecretVars}, o.Dir)
	}
	if w.file == nil || w.file.Path != o.File {
		w.file, _ = jobtest.Read(o.File)
	}
	i := slices.IndexFunc(w.file.Runs, func(r *jobtest.Run) bool { return r.Name == o.Run })
	if i < 0 {
		return failedRun("the file has changed since it was read", nil)
	}
	run := w.file.Runs[i]
	prepared, diagnostics, err := w.player.Prepare(ctx, w.file, run)
	switch {
	case err != nil:
		return failedRun(err.Error(), nil)
	case prepared == nil:
		return failedRun("a file has changed since it was read", diagnostics)
	}
	outcome, err := w.carryOut(ctx, run, prepared, o.Seed)
	if outcome != nil {
		result = playedResult(outcome)
		if err == nil {
			result.Failures = failuresOf(assert.Judge(run, outcome))
		}
		if len(result.Failures) == 0 && !o.Events {
			result.Events = nil
		}
		defer func() {
			if err := outcome.Close(); err != nil {
				result.Notices = append(result.Notices, err.Error())
			}
		}()
	}
	if err != nil {
		var f worker.Failure
		f, result.Last = failureOf(err)
		result.Failures = append(result.Failures, f)
	}
	return result
}

// playedResult returns what a run has left, without a verdict.
func playedResult(o *jobtest.Outcome) worker.Result {
	r := worker.Result{Elapsed: o.Elapsed, Events: timeline.Of(o.Began, o.Events), Notices: o.Notices}
	for key, t := range o.Tasks {
		if len(t.Stdout)+len(t.Stderr) == 0 {
			continue
		}
		target := key.Task
		if a := o.State.Find(key.Alloc); a != nil {
			target = timeline.Target(a.Alloc, key.Task)
		}
		r.Output = append(r.Output, worker.Output{Target: target, Stdout: string(t.Stdout), Stderr: string(t.Stderr)})
	}
	slices.SortFunc(r.Output, func(a, b worker.Output) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Stdout, b.Stdout), cmp.Compare(a.Stderr, b.Stderr))
	})
	return r
}

func failuresOf(all []assert.Failure) (list []worker.Failure) {
	for _, f := range all {
		var detail []string
		if f.Detail != "" {
			detail = append(detail, f.Detail)
		}
		for _, v := range f.Values {
			detail = append(detail, fmt.Sprintf("%s is %s", v.Text, v.Value))
		}
		f.Detail = strings.Join(detail, "\n")
		list = append(list, worker.Failure{Diagnostic: f.Diagnostic, Targets: f.Targets})
	}
	return list
}

// failureOf returns why a run did not go to its end, and whether its process can
// play no other.
func failureOf(err error) (f worker.Failure, last bool) {
	f.Summary = err.Error()
	if order, ok := errors.AsType[jobspec.Diagnostic](err); ok {
		f.Diagnostic = order
		return f, false
	}
	f.Stack = bubble.Stacks(err)
	return f, f.Stack != ""
}

func failedRun(why string, more jobspec.Diagnostics) (r worker.Result) {
	r.Failures = []worker.Failure{{Diagnostic: jobspec.Diagnostic{Summary: why}}}
	for _, d := range more {
		r.Failures = append(r.Failures, worker.Failure{Diagnostic: d})
	}
	return r
}

// carryOut plays a run on its clock.
func (w *testWorker) carryOut(ctx context.Context, run *jobtest.Run, prepared *play.Prepared, seed uint64) (outcome *jobtest.Outcome, err error) {
	if run.Mode == jobtest.Real {
		return w.player.Play(ctx, prepared, seed)
	}
	const more = 48 * time.Hour // for tasks to stop
	limits := bubble.Limits{Virtual: cmp.Or(run.Timeout, play.VirtualTime) + more}
	err = bubble.Run(ctx, limits, func(ctx context.Context) (err error) {
		outcome, err = w.player.Play(ctx, prepared, seed)
		return err
	})
	return outcome, err
}
