package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/ui"
)

func newRehearseCommand(a *app) *cobra.Command {
	opts := upOptions{mode: ui.Plain, time: ui.TimeClock, rehearse: true}
	watches := false
	cmd := &cobra.Command{
		Use:   "rehearse [FILE...]",
		Short: "Dry run: do everything except start tasks",
		Long: `Do a dry run of job files: do everything that "taskrun up" does, except start
tasks. Variables, ports, templates, services and the order of the tasks are as
in a run. Checks pass, and no driver has to be installed. The rehearsal ends on
its own and leaves nothing behind, unless --data-dir is given. It fails if any
step fails or a stub is missing. Things that depend on the machine, such as
users, devices and networks, are listed at the end as not tested.

` + fileHelp + `

A rehearse block in the stubs file decides how long a task runs and how it ends.

The clock jumps to whatever happens next, so that hours of restarts take no
time. It begins on 2026-01-01, and --timeout (default 168h) counts on it. The
same files and the same --seed always give the same output. With --download,
artifacts are downloaded and the time is real.

Exit codes:
  0    everything works
  1    a task or an allocation failed
  2    a job file or the call is wrong, or a stub is missing
  124  --timeout passed
  125  taskrun itself failed
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM
  141  stdout was closed`,
		Example: `  taskrun rehearse web.nomad.hcl
  taskrun rehearse --strict --stubs ci/taskrun.hcl web.nomad.hcl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// The data directory of the environment and the config file is for runs.
			opts.ownData = !cmd.Flags().Changed("data-dir")
			if opts.download && (cmd.Flags().Changed("seed") || opts.offline || opts.virtual) {
				return exit.Usage("--download cannot be combined with --seed, --offline or --virtual: it takes place in real time")
			}
			if watches {
				return a.rerun(cmd.Context(), func(ctx context.Context, files *watched) error {
					opts := opts
					opts.onRead = func(read []jobfile.File) {
						files.add(opts.sources(slices.Concat(args, jobFileNames(read)), read, nil)...)
					}
					return rehearseOnce(ctx, a, args, opts)
				})
			}
			return rehearseOnce(cmd.Context(), a, args, opts)
		},
	}
	flags := cmd.Flags()
	opts.jobOptions.bind(flags)
	opts.bindStubs(flags)
	opts.bindStrict(flags)
	opts.bindMaxAllocs(flags)
	opts.machineOptions.bind(flags)
	opts.bindOffline(flags)
	opts.bindTimeout(flags)
	bindAgain(flags, &watches)
	flags.BoolVar(&opts.download, "download", false, "download artifacts, in real time")
	flags.Uint64Var(&opts.seed, "seed", 1, "`number` from which all random numbers derive")
	// This is the default now.
	flags.BoolVar(&opts.virtual, "virtual", false, "use a clock that jumps: the default")
	hide(flags, "virtual", "offline")
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	bindTime(cmd, &opts.time)
	bindVerbose(flags, &opts.verbose)
	bindReports(cmd, &opts.report)
	return cmd
}

func rehearseOnce(ctx context.Context, a *app, args []string, opts upOptions) error {
	if err := opts.startReports(a, "taskrun rehearse"); err != nil {
		return err
	}
	drivers, health := a.drivers, a.healthOf
	defer func() { a.drivers, a.healthOf = drivers, health }()
	return upHere(ctx, a, args, opts)
}
