package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/prose"
	"taskrun/cmd/record"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/recording"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
)

type diffOptions struct {
	mode    ui.Mode
	factor  float64
	dataDir string
}

func newDiffCommand(a *app) *cobra.Command {
	opts := diffOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "diff RUN [RUN]",
		Short: "Show how two runs differ",
		Long: `Show how two runs differ: what started, ended or restarted differently, exit
codes, events and their messages, deployments, services, checks, durations, the
environment of tasks and their templates. With one RUN, which must be a job,
compare the last two runs of the job.

` + lookup.RunNameHelp + `
It may also be a recording of a real Nomad, a file that ends in .json.

taskrun ignores what differs in any two runs: IDs, ports, times, directories,
PIDs, and up to 25 % between the delays of restarts, to which Nomad adds jitter.
The order of tasks counts where their lifecycles decide it. A duration counts if
it is --factor times longer, and at least 300ms longer. Secrets are not kept, so
a changed secret is no difference.

Output:
  plain  a line for each difference, by task
  json   an object for each difference, then one of type "comparison"
  quiet  nothing

Exit codes:
  0    the runs do not differ
  1    they do
  2    a run cannot be read, or the call is wrong
  141  stdout was closed`,
		Example: `  taskrun diff web
  taskrun diff web/20260102T150405Z-1a2b3c web
  taskrun diff yesterday.zip web --output json`,
		Args:              arguments(1, 2),
		ValidArgsFunction: completeRunNames(a, &opts.dataDir, 2),
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.Float64Var(&opts.factor, "factor", compare.Defaults.Factor, "how many times longer a duration must be to count; 0 ignores durations")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runDiff(ctx context.Context, a *app, args []string, opts diffOptions) error {
	o, err := compareOptions(opts.factor)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if args, err = a.lastTwo(ctx, args[0], opts.dataDir); err != nil {
			return err
		}
	}
	var sides [2]*comparedRun
	for i, arg := range args {
		if sides[i], err = a.comparedRun(ctx, arg, opts.dataDir); err != nil {
			return err
		}
	}
	x, y := sides[0], sides[1]
	c := answer.Comparison{A: x.Side, B: y.Side, List: compare.Compare(x.Run, y.Run, o), NotCompared: compare.NotCompared(x.Run, y.Run)}
	if err := answer.WriteComparison(a.Answer(opts.mode), c); err != nil {
		return err
	}
	if c.Different() > 0 {
		return exit.Silent(verdict.Failed)
	}
	return nil
}

// compareOptions returns what counts as a difference.
func compareOptions(factor float64) (compare.Options, error) {
	o := compare.Defaults
	o.Factor = factor
	if factor != 0 && factor < 1 {
		return o, exit.Usage("cannot compare durations by a factor of %v", factor).WithHint("use one above 1, or 0 to ignore durations")
	}
	return o, nil
}

// comparedRun is a side of a comparison.
type comparedRun struct {
	answer.Side
	*compare.Run
}

// lastTwo returns the names of the last two runs of a job, the older one first.
func (a *app) lastTwo(ctx context.Context, job, dataDir string) ([]string, error) {
	runs, err := a.runs.AllRuns(ctx, dataDir, job)
	if len(runs) < 2 {
		if err != nil {
			return nil, unreadable(err)
		}
		return nil, exit.Usage("job %q has %s to compare", job, prose.Count(len(runs), "run")).WithHint("name two runs; see: taskrun runs")
	}
	return []string{runs[1].Name(), runs[0].Name()}, nil
}

// unreadable returns the error of a run that cannot be compared.
func unreadable(err error) error {
	e := &exit.Error{Code: verdict.Usage, Err: err}
	if known, ok := err.(*exit.Error); ok { //nolint:errorlint // one that is wrapped has no hint for this command
		e.Hint = known.Hint
	}
	return e
}

// comparedRun reads a run, or a recording, that an argument names.
func (a *app) comparedRun(ctx context.Context, name, dataDir string) (*comparedRun, error) {
	if filepath.Ext(name) == ".json" {
		r, err := readRecording(name)
		if err != nil {
			return nil, unreadable(err)
		}
		return &comparedRun{answer.Side{Name: name}, r.Run()}, nil
	}
	r, err := a.runs.OpenRun(ctx, name, dataDir)
	if err != nil {
		return nil, unreadable(err)
	}
	defer r.Close()
	if r.Live {
		a.Warn(fmt.Errorf("run %s has not ended; its state so far is compared", r.Name()))
	}
	b := compare.NewBuilder()
	for e, err := range a.runs.EventsOf(r.Run) {
		if err != nil {
			return nil, unreadable(err)
		}
		b.Add(e)
	}
	spec, err := r.KnownJob(ctx)
	if err != nil {
		a.Warn(err)
	}
	if err := addEnvironments(r.Run, b); err != nil {
		a.Warn(err)
	}
	addTemplates(r.Run, spec, b)
	run := b.Run()
	if spec != nil {
		run.Arrange([]*api.Job{spec})
	}
	return &comparedRun{answer.Side{Name: r.Name(), Told: outcome(r.Run, run)}, run}, nil
}

// outcome adds the outcome of a run to the comparison, and describes it for people.
func outcome(r *record.Run, run *compare.Run) string {
	run.Values[compare.Key{Kind: compare.Outcome, Name: "status"}] = r.Status()
	s := r.Summary
	switch {
	case s == nil:
		run.Took = compare.Unknown
		return r.Status()
	case s.User:
		run.Took = compare.Unknown // when a user stops a run says nothing about it
	default:
		run.Took = time.Duration(s.DurationMS) * time.Millisecond
	}
	run.Values[compare.Key{Kind: compare.Outcome, Name: "exit_code"}] = fmt.Sprint(s.ExitCode)
	return fmt.Sprintf("%s after %s, exit code %d", s.Status, prose.Duration(time.Duration(s.DurationMS)*time.Millisecond), s.ExitCode)
}

const maxRecording = 64 << 20

func readRecording(path string) (r recording.Recording, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecording {
		return r, fmt.Errorf("%s is not a regular file of at most %d MiB", path, maxRecording>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecording))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is not a recording: %w", path, err)
	}
	if r.Allocs == nil {
		return r, fmt.Errorf("%s is not a recording: it has no allocations", path)
	}
	return r, nil
}
