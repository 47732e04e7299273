package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

type inspectOptions struct {
	jobOptions
	canonical bool
}

func newInspectCommand(a *app) *cobra.Command {
	var opts inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect [FILE]",
		Short: "Show a job file as the JSON of Nomad's API",
		Long: `Show the job of a file as JSON, as "nomad job run -output" does: the values of
the file without defaults, unless --canonical adds them, with the changes that
the artifact, group and task blocks of the stubs file make.

` + fileHelp,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return runInspect(cmd.Context(), a, args, opts) },
	}
	opts.bind(cmd.Flags())
	opts.bindStubs(cmd.Flags())
	cmd.Flags().BoolVar(&opts.canonical, "canonical", false, "add all defaults")
	return cmd
}

func runInspect(ctx context.Context, a *app, args []string, opts inspectOptions) error {
	garbage.CollectRarely()
	opts.Placeholders = true
	files, diagnostics, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return err
	}
	for _, f := range files { // one, unless it cannot be read
		if f.Job != nil {
			diagnostics = append(diagnostics, f.Stubs.Apply(f.Job, f.Positions).Diagnostics...)
		}
	}
	a.PrintDiagnostics(files, diagnostics)
	if diagnostics.HasErrors() {
		return exit.Silent(verdict.Usage)
	}
	job := files[0].Job
	if opts.canonical {
		job.Canonicalize()
	}
	if err := jobspec.WriteJSON(a.Streams.Out, job); err != nil {
		return fmt.Errorf("cannot write the job: %w", err)
	}
	return nil
}
