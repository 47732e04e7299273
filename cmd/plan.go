package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
)

type planOptions struct {
	connection
	jobOptions
	mode ui.Mode
}

func (a *app) planCommand() *cobra.Command {
	opts := planOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Show what a changed job file would mean for the job that runs",
		Long: `Show what differs between a job file and the job of that name that runs, and what
that means for its allocations: those that would be created, destroyed, replaced
(create/destroy update), changed while they run (in-place update) or left alone.
Nothing is changed.

` + fileHelp + `

With --address the job is looked for in a Nomad cluster. What belongs to Nomad in
the environment (NOMAD_ADDR, NOMAD_TOKEN, …) is not read.

Output:
  plain  a line for each difference
  json   one object of type "plan"
  quiet  nothing

Exit codes, as those of "nomad job plan":
  0    no allocation would be created or destroyed
  1    some would
  2    the job file or the call is wrong
  125  the job does not run, or taskrun itself failed`,
		Example: `  taskrun plan job.nomad.hcl
  taskrun plan --output json | jq .groups`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.plan(cmd.Context(), args, opts) },
	}
	flags := cmd.Flags()
	opts.connection.bind(flags)
	opts.jobOptions.bind(flags)
	if err := flags.MarkHidden("job"); err != nil {
		panic(err) // there is no such flag
	}
	flags.Var(&opts.mode, "output", "plain, json or quiet")
	complete(cmd, "output", string(ui.Plain), string(ui.JSON), string(ui.Quiet))
	return cmd
}

func (a *app) plan(ctx context.Context, args []string, opts planOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	files, problems, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return err
	}
	problems = append(problems, check(files)...)
	if err := a.refuse(files, problems, opts.mode); err != nil {
		return err
	}
	servers, err := a.servers(ctx, opts.connection)
	if err != nil {
		return err
	}
	job, err := findJob(client.ListJobs(ctx, servers), *files[0].Job.ID)
	if err != nil {
		return (&exitError{code: exitInternal, err: fmt.Errorf("job %q does not run", *files[0].Job.ID)}).
			withHint("start it with: taskrun up %s", files[0].name)
	}
	plan, err := job.Plan(ctx, files[0].Job)
	if err != nil {
		return err
	}
	if err := ui.WritePlan(a.streams, opts.mode, a.colour, time.Now(), plan); err != nil {
		return err
	}
	if moves(plan.Annotations) {
		return silent(exitFailed)
	}
	return nil
}

// moves reports whether allocations would be created or destroyed.
func moves(a *api.PlanAnnotations) bool {
	for _, g := range a.DesiredTGUpdates {
		if g.Place+g.Stop+g.Migrate+g.DestructiveUpdate+g.Canary > 0 {
			return true
		}
	}
	return false
}
