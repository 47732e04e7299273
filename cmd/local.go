package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/jobspec"
	"taskrun/jobspec/standin"
)

func (a *app) localCommand() *cobra.Command {
	var opts jobOptions
	cmd := &cobra.Command{
		Use:   "local [FILE]",
		Short: "Print what a job file asks a cluster for, as stand-ins to fill in",
		Long: `Print a file of stand-ins with everything that a job file asks a cluster for:
variables without a value, Nomad variables, Consul keys, Vault secrets, services
that run elsewhere, host volumes and meta of the node, each with the place that
asks for it. Filled in and saved as taskrun.hcl beside the job file, it is what
"taskrun up" reads.

` + fileHelp,
		Example: `  taskrun local job.nomad.hcl > taskrun.hcl`,
		Args:    cobra.MaximumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.local(cmd.Context(), args, opts) },
	}
	opts.bind(cmd.Flags())
	opts.outline = true
	return cmd
}

func (a *app) local(ctx context.Context, args []string, opts jobOptions) error {
	files, problems, err := a.read(ctx, args, opts)
	if err != nil {
		return err
	}
	a.printProblems(files, onlyErrors(problems))
	if problems.HasErrors() {
		return silent(exitUsage)
	}
	files[0].Job.Canonicalize()
	jobspec.Register(files[0].Job)
	_, err = a.streams.Data().Write(standin.Skeleton(files[0].File, files[0].name))
	return err
}

func onlyErrors(problems jobspec.Problems) (errors jobspec.Problems) {
	for _, p := range problems {
		if p.Severity == jobspec.Error {
			errors = append(errors, p)
		}
	}
	return errors
}
