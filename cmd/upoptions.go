package cmd

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"taskrun/cmd/ci"
	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/lookup"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/engine/health"
	"taskrun/jobspec"
)

type upOptions struct {
	jobOptions
	machineOptions
	at       lookup.Connection
	mode     ui.Mode
	time     ui.TimeFormat
	verbose  bool
	shown    shownTasks
	timeout  time.Duration
	until    verdict.Until
	failFast bool
	codeFrom string
	now      bool
	http     string // address of the API; empty: none
	rehearse bool
	virtual  bool // in virtual time, with chance from the seed
	seed     uint64
	offline  bool
	download bool                // of a rehearsal: artifacts, in real time
	untested jobspec.Diagnostics // by a rehearsal
	ownData  bool                // use a data directory of its own
	update   bool
	agent    bool // run the jobs in an agent
	detach   bool
	ui       bool                 // on the full screen
	watch    bool                 // follow the files
	since    time.Time            // when reading them began
	onRead   func([]jobfile.File) // learns what was read, with errors or not; may be nil
	wait     bool
	report   ci.Options
	reports  *ci.Reporter // nil: the command reports nothing
	// noRestart removes the restarts and the rescheduling from the jobs.
	noRestart bool
	repeat    uint // how many runs there are; 0: no limit with untilFail, else one
	untilFail bool
}

func (o *upOptions) bindTimeout(flags *pflag.FlagSet) {
	flags.DurationVar(&o.timeout, "timeout", 0, "stop after this time, e.g. 10m")
}

func (o *upOptions) entry() preflight.Entry {
	switch {
	case o.rehearse:
		return preflight.Rehearse
	case o.update:
		return preflight.Update
	}
	return preflight.Up
}

func (o *upOptions) policy(files []jobfile.File) (verdict.Policy, error) {
	p := verdict.Policy{Until: o.until.Running, Healthy: o.until.Healthy, Timeout: o.timeout, FailFast: o.failFast}
	if err := o.shown.check(jobfile.Jobs(files)); err != nil {
		return p, err
	}
	if o.timeout < 0 {
		return p, exit.Usage("cannot use a negative timeout: %v", o.timeout)
	}
	if o.until.Healthy {
		for _, j := range jobfile.Jobs(files) {
			if g := health.ByHand(j); g != "" {
				return p, exit.Usage("cannot run job %q until it is healthy: group %q has health_check = \"manual\"", *j.ID, g).
					WithHint("use --until running")
			}
			if health.NewDeployment(j, time.Time{}) == nil {
				return p, exit.Usage("cannot run job %q until it is healthy: it has no deployment, as services with an update block have", *j.ID).
					WithHint("use --until running")
			}
		}
	}
	if o.codeFrom == "" {
		return p, nil
	}
	from, err := verdict.FindCodeFrom(o.codeFrom, jobfile.Jobs(files))
	wrong, ok := errors.AsType[*verdict.TaskError](err)
	switch {
	case err == nil:
		p.CodeFrom = from
	case ok && len(wrong.Matches) == 0:
		return p, exit.Usage("%w", err).WithHint("tasks are: %s", strings.Join(wrong.Tasks, ", "))
	default:
		return p, exit.Usage("%w", err)
	}
	return p, nil
}

// bindEngine adds the flags that the engine of a run reads, besides its jobs.
func (o *upOptions) bindEngine(flags *pflag.FlagSet) {
	o.machineOptions.bind(flags)
	o.bindNeighbors(flags)
	o.bindMaxAllocs(flags)
	o.bindTimeout(flags)
	flags.Var(&o.until, "until", "stop and exit with 0 once every task has run this long without a restart, or every deployment is healthy")
	flags.BoolVar(&o.failFast, "fail-fast", false, "stop at the first failed allocation")
	flags.StringVar(&o.codeFrom, "exit-code-from", "", "stop when this `task` has ended, and exit with its exit code: [JOB/][GROUP/]TASK")
	flags.BoolVar(&o.enforce, "enforce-memory", false, "kill tasks that use more memory than their limit, with cgroups")
	flags.BoolVar(&o.now, "now", false, "launch periodic jobs immediately, and then on schedule")
}

func (o *upOptions) bindOffline(flags *pflag.FlagSet) {
	flags.BoolVar(&o.offline, "offline", false, "download no artifacts: the default of a rehearsal")
}

// startReports checks the flags for reports, before anything starts.
func (o *upOptions) startReports(a *app, command string) (err error) {
	if o.detach && o.report.JUnit != "" {
		return exit.Usage("--junit cannot be combined with --detach: the report is written when the run has ended").WithHint("leave out --detach")
	}
	if o.reports, err = ci.New(a.Console, currentVersion().Version, o.report, command, o.mode); err == nil {
		o.reports.Sections = !o.detach && !o.update
	}
	return err
}

// checkHere refuses combinations of flags that do not work on this machine.
func (o *upOptions) checkHere() error {
	switch {
	case o.watch && o.update:
		return exit.Usage("--watch cannot be combined with --update").WithHint("taskrun up --watch starts a run that follows its files")
	case o.offline && !o.rehearse:
		return exit.Usage("--offline is for rehearsals: use it with taskrun rehearse")
	case o.update && (o.rehearse || o.noRestart || o.http != ""):
		return exit.Usage("cannot use --rehearse, --no-restart or --http with --update: the job runs already")
	case o.update && o.report.JUnit != "":
		return exit.Usage("--junit cannot be combined with --update: the run continues").WithHint("leave out --junit")
	case o.wait && !o.detach:
		return exit.Usage("--wait requires --detach").WithHint("add --detach, or use --until to end the run")
	case o.detach && o.rehearse:
		return exit.Usage("cannot rehearse a job in the background").WithHint("leave out --detach")
	case o.detach && o.http != "":
		return exit.Usage("--http cannot be combined with --detach: the token is shown on the terminal").WithHint("use its socket instead: --output json shows it")
	}
	return nil
}

// checkUI refuses flags that make no sense on the full screen. The run is one in the
// background, in an agent or in a cluster, which the screen shows.
func (o *upOptions) checkUI() error {
	if !o.ui {
		return nil
	}
	for _, f := range []struct {
		given bool
		name  string
	}{
		{o.detach, "detach"},
		{o.rehearse, "rehearse"},
		{o.repeats(), "repeat"},
		{o.update, "update"},
		{o.http != "", "http"},
		{o.report.JUnit != "", "junit"},
		{o.mode != ui.Plain, "output"},
	} {
		if f.given {
			return exit.Usage("--%s cannot be combined with --ui", f.name).WithHint("leave out --ui, and show the run with: taskrun ui")
		}
	}
	return nil
}

// checkCluster refuses combinations of flags that do not work in a cluster.
func (o *upOptions) checkCluster() error {
	switch {
	case o.wait && !o.detach:
		return exit.Usage("--wait requires --detach").WithHint("add --detach, or use --until to end the run")
	case !o.detach:
		return nil
	case o.failFast || o.codeFrom != "":
		return exit.Usage("--fail-fast and --exit-code-from cannot be combined with --detach: taskrun returns before it could stop the job").WithHint("leave out --detach")
	case !o.wait && (o.timeout != 0 || o.until != verdict.Until{}):
		return exit.Usage("--timeout and --until cannot be combined with --detach in a cluster: taskrun returns before it could stop the job").
			WithHint("add --wait to wait for that")
	}
	return nil
}

// repeats reports whether the job is to run several times.
func (o *upOptions) repeats() bool { return o.repeat > 0 || o.untilFail }
