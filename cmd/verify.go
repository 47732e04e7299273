package cmd

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/ui"
)

// verifyTime is how long a job of verify may run, unless --timeout is given.
const verifyTime = 5 * time.Minute

func newVerifyCommand(a *app) *cobra.Command {
	opts := verifyOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Run a job on a real Nomad, too, and compare the two runs",
		Long: `Run a job with taskrun and with a Nomad agent, one after the other, and show how
the two runs differ: allocations, states, events, exit codes, restarts,
deployments, checks, environment, files and output.

taskrun starts "nomad agent -dev" in a scratch directory. The agent listens only
on 127.0.0.1, and is removed afterwards with everything that it has started.
With --address the job runs in a cluster instead, and is purged there in the
end; verify refuses if the cluster has a job of that name.

` + fileHelp + `

Both sides get the job as taskrun runs it, with the changes of the stubs file.
The agent also gets the Nomad variables, the host volumes and the node class and
metadata of the stubs. Warnings say first what one side cannot do.

A batch job runs until it ends. A service is stopped once its deployment is
successful or, without one, once every task has run for 10s. --until and
--timeout change that, on both sides.

IDs, ports, times and directories do not count. Intended differences, which
"taskrun help differences" explains, are listed with their reason, and do not
count either. The environment is what a command in the task sees, so that of a
task that ends at once is not compared. Secrets are hidden.

Exit codes:
  0    the runs are equal but for intended differences
  1    the runs differ
  2    the job file or the call is wrong, there is no nomad, or Nomad refuses
       the job
  125  taskrun or the agent failed
  129, 130, 143  stopped by SIGHUP, SIGINT, SIGTERM`,
		Example: `  taskrun verify job.nomad.hcl
  taskrun verify --nomad ~/bin/nomad --until running=30s web.nomad.hcl`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			garbage.CollectRarely()
			return runVerify(cmd.Context(), a, args, opts, cmd.Flags().Changed("nomad"))
		},
	}
	flags := cmd.Flags()
	opts.jobOptions.bind(flags)
	opts.bindStubs(flags)
	opts.bindMaxAllocs(flags)
	opts.bindDrivers(flags)
	opts.at.BindCluster(flags)
	bindOutput(cmd, &opts.mode, "plain, json or quiet")
	flags.StringVar(&opts.nomad, "nomad", "nomad", "`path` of the nomad command")
	flags.DurationVar(&opts.timeout, "timeout", verifyTime, "stop the job after this time, e.g. 10m")
	flags.Var(&opts.until, "until", "stop the job once every task has run this long without a restart, or every deployment is healthy")
	complete(cmd, "until", "running", "running=10s", "healthy")
	return cmd
}

func runVerify(ctx context.Context, a *app, args []string, opts verifyOptions, given bool) error {
	remote, err := opts.at.Remote()
	if err != nil {
		return err
	}
	if opts.timeout <= 0 {
		return exit.Usage("cannot use a timeout of %v: it is not positive", opts.timeout)
	}
	if remote {
		if given {
			return exit.Usage("--nomad cannot be combined with --address: no agent is started")
		}
	} else if opts.nomad, err = findNomad(opts.nomad); err != nil {
		return err
	}
	v := &verification{a: a, opts: opts, remote: remote}
	return v.run(ctx, args)
}

func findNomad(name string) (string, error) {
	path, err := exec.LookPath(name)
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return "", exit.Usage("cannot find Nomad as %q: %w", name, e.Err).
			WithHint("install it (https://developer.hashicorp.com/nomad/install), name it with --nomad, or use a running agent with --address")
	}
	return path, err
}
