package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

func newStubsCommand(a *app) *cobra.Command {
	var opts jobOptions
	cmd := &cobra.Command{
		Use:   "stubs [FILE]",
		Short: "Print the stubs that a job file needs, to fill in",
		Long: `Print a stubs file with everything that a job file needs of a cluster: variables
without a value, Nomad variables, Consul keys, Vault secrets, services that run
elsewhere, host volumes and meta of the node, each with its place in the job
file. Fill it in and save it as taskrun.hcl beside the job file: "taskrun up"
reads it from there, or from --stubs FILE.

` + fileHelp,
		Example: `  taskrun stubs job.nomad.hcl > taskrun.hcl`,
		Args:    arguments(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runStubs(cmd.Context(), a, args, opts) },
	}
	opts.bind(cmd.Flags())
	opts.Outline = true
	return cmd
}

// newLocalCommand is the old spelling of stubs.
func newLocalCommand(a *app) *cobra.Command {
	cmd := newStubsCommand(a)
	cmd.Use, cmd.Hidden = "local [FILE]", true
	return cmd
}

func runStubs(ctx context.Context, a *app, args []string, opts jobOptions) error {
	files, diagnostics, err := a.read(ctx, args, opts)
	if err != nil {
		return err
	}
	a.printDiagnostics(files, onlyErrors(diagnostics))
	if diagnostics.HasErrors() {
		return silent(exitUsage)
	}
	files[0].Job.Canonicalize()
	jobspec.Register(files[0].Job)
	_, err = a.streams.Data().Write(stub.Skeleton(files[0].File, files[0].Name))
	return err
}

func onlyErrors(diagnostics jobspec.Diagnostics) (errors jobspec.Diagnostics) {
	for _, p := range diagnostics {
		if p.Severity == jobspec.Error {
			errors = append(errors, p)
		}
	}
	return errors
}
