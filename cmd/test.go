package cmd

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/ci"
	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/results"
	"taskrun/cmd/jobtest/snapshot"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

func newTestCommand(a *app) *cobra.Command {
	opts := testOptions{format: console.FormatPlain, seed: usualSeed}
	watches := false
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run the tests of job files, in virtual time",
		Long: `Run job tests: files whose names end in .nomadtest.hcl. They say how the tasks
of a job behave, which orders are given when, and what must be true at the end.
Tasks are mocks and time is virtual, so that an hour of restarts takes
milliseconds; runs with mode = "real" start the real tasks. See "taskrun help
test".

PATH is a test file, or a folder: all test files in it and in its folder tests.
The default is the current folder.

The same file always gives the same events at the same virtual times. --seed
chooses other random numbers, such as those of restart delays.

Exit codes:
  0    all runs passed
  1    a run failed
  2    a test file, a job file or the call is wrong
  125  taskrun itself failed
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM
  141  stdout was closed`,
		Example: `  taskrun test --init web.nomad.hcl
  taskrun test
  taskrun test --filter crash --verbose web.nomadtest.hcl
  taskrun test --output github --junit report.xml jobs`,
		ValidArgsFunction: completeTestFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			if watches && opts.init == "" {
				return a.rerun(cmd.Context(), func(ctx context.Context, files *watched) error {
					opts := opts
					opts.watched = files
					return runTest(ctx, a, args, opts)
				})
			}
			return runTest(cmd.Context(), a, args, opts)
		},
	}
	flags := cmd.Flags()
	opts.bind(flags)
	flags.StringVar(&opts.filter, "filter", "", "play only the runs whose FILE/NAME contains this `text`, or matches it as a regular expression")
	completeFlag(cmd, "filter", completeTestRuns)
	bindAgain(flags, &watches)
	flags.BoolVar(&opts.failFast, "fail-fast", false, "stop at the first run that fails")
	flags.Var(&opts.seed, "seed", "number from which all random numbers derive")
	flags.BoolVar(&opts.update, "update-snapshots", false, "store the events of runs as their snapshots")
	bindReports(cmd, &opts.report)
	flags.StringVar(&opts.init, "init", "", "write a first test file for a `job` file, and run nothing")
	bindChoice(cmd, flags, "output", "plain, json, github (workflow annotations), or quiet: only the exit code",
		ui.Choice[console.Format]{To: &opts.format, Kind: "format", Values: []console.Format{console.FormatPlain, console.FormatJSON, console.FormatGitHub, console.FormatQuiet}})
	flags.BoolVar(&opts.verbose, "verbose", false, "show all events with their virtual times")
	return cmd
}

func runTest(ctx context.Context, a *app, args []string, opts testOptions) error {
	if opts.init != "" {
		if len(args) > 0 {
			return exit.Usage("cannot use --init and paths in one call").WithHint("taskrun test --init %s", opts.init)
		}
		return initTest(ctx, a, opts)
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	reports, err := testReporter(a, opts)
	if err != nil {
		return err
	}
	dirs, remove, err := makeTestDirs(a)
	if err != nil {
		return err
	}
	defer remove()
	files, diagnostics, err := a.readTests(ctx, args, opts, dirs)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	if err := a.ShowDiagnostics(opts.format, sourcesOf(files), diagnostics); err != nil {
		return err
	}
	runs, err := chosen(files, opts.filter)
	if err != nil && !diagnostics.HasErrors() {
		return err
	}
	code := verdict.OK
	view := results.New(a.Console, results.Options{
		Format: opts.format, Verbose: opts.verbose, FailFast: opts.failFast, Seed: uint64(opts.seed), Flags: opts.repeatFlags(), Version: currentVersion().Version,
	}, runs)
	err = playTests(ctx, a, opts, view, runs, dirs)
	if opts.watched != nil && ctx.Err() != nil {
		return exit.Stopped(ctx, err) // the tests begin again, or end: a part of them says nothing
	}
	if err != nil {
		err = exit.Stopped(ctx, err)
		code = exit.Code(err)
	}
	switch {
	case code != verdict.OK:
	case diagnostics.HasErrors():
		code = verdict.Usage
	case view.Failed > 0:
		code = verdict.Failed
	}
	if len(runs) > 0 {
		err = cmp.Or(err, view.Close(code))
	}
	a.nameStale(files)
	title := fmt.Sprintf("taskrun test: %d passed, %d failed", view.Passed, view.Failed)
	return reports.Tested(title, sourcesOf(files), diagnostics, view.Failures(), view.Suites(), cmp.Or(err, exit.Silent(code)))
}

func chosen(files []*testFile, filter string) (runs []results.Planned, err error) {
	wanted := func(string) bool { return true }
	if filter != "" {
		pattern, err := regexp.Compile(filter)
		wanted = func(name string) bool {
			return strings.Contains(name, filter) || err == nil && pattern.MatchString(name)
		}
	}
	var names []string
	for _, f := range files {
		for _, r := range f.Runs {
			p := results.Planned{File: f.File, Run: r}
			names = append(names, strconv.Quote(r.Name))
			if !f.wrong && wanted(p.Name()) {
				runs = append(runs, p)
			}
		}
	}
	if len(runs) == 0 && len(names) > 0 && filter != "" {
		return nil, exit.Usage("no run matches --filter %q", filter).WithHint("there are: %s", strings.Join(names, ", "))
	}
	return runs, nil
}

// nameStale warns of snapshots that no run has.
func (a *app) nameStale(files []*testFile) {
	for _, f := range files {
		if f.wrong {
			continue
		}
		var names []string
		for _, r := range f.Runs {
			names = append(names, r.Snapshot)
		}
		for _, path := range snapshot.Stale(f.Path, names) {
			a.Warn(fmt.Errorf("no run of %q has the snapshot %q: remove it", f.Path, path))
		}
	}
}

// completeTestFiles completes paths: folders and test files.
func completeTestFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"hcl"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeTestRuns completes the names of the runs of the files of the command line.
func completeTestRuns(_ *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	paths, _ := jobtest.Find(args) // completion reports no errors
	for _, path := range paths {
		file, _ := jobtest.Read(path)
		for _, r := range file.Runs {
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	return startingWith(names, prefix), cobra.ShellCompDirectiveNoFileComp
}

// testReporter returns the reporter of taskrun test. With --output github it adds
// no second annotation.
func testReporter(a *app, opts testOptions) (*ci.Reporter, error) {
	if opts.format == console.FormatGitHub && opts.report.To == "" {
		opts.report.To = "none"
	}
	return ci.New(a.Console, currentVersion().Version, opts.report, "taskrun test", ui.Mode(opts.format))
}
