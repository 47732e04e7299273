package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

type validateOptions struct {
	jobOptions
	machineOptions
	format console.Format
}

func newValidateCommand(a *app) *cobra.Command {
	opts := validateOptions{format: console.FormatPlain}
	cmd := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check job files and report everything that is wrong",
		Long: `Check job files and report all diagnostics, each with its place in the source.
Nothing is started. The exit code is 2 if there are errors. Everything that
"taskrun up" would refuse is an error, except for what depends on this machine:
its drivers, its attributes, and what runs on it.

With --strict every warning of "taskrun up" is an error as well, such as blocks
and options that have no effect here. With --hints deprecated forms and other
advice are shown too; hints are never errors.

` + fileHelp,
		RunE: func(cmd *cobra.Command, args []string) error { return runValidate(cmd.Context(), a, args, opts) },
	}
	opts.jobOptions.bind(cmd.Flags())
	opts.machineOptions.bind(cmd.Flags())
	opts.bindNeighbors(cmd.Flags())
	opts.bindStubs(cmd.Flags())
	opts.bindStrict(cmd.Flags())
	cmd.Flags().BoolVar(&opts.hints, "hints", false, "also show advice, such as on deprecated syntax")
	opts.bindMaxAllocs(cmd.Flags())
	bindChoice(cmd, cmd.Flags(), "output", "plain, json, github (workflow annotations), or quiet: only the exit code",
		ui.Choice[console.Format]{To: &opts.format, Kind: "format", Values: []console.Format{console.FormatPlain, console.FormatJSON, console.FormatGitHub, console.FormatQuiet}})
	return cmd
}

func runValidate(ctx context.Context, a *app, args []string, opts validateOptions) error {
	garbage.CollectRarely()
	opts.Placeholders = true
	var err error
	if opts.dataDir, err = a.runs.DataDir(opts.dataDir); err != nil {
		return err
	}
	entry := preflight.Validate
	if opts.strict {
		entry = preflight.Strict
	}
	files, diagnostics, err := a.readChecked(ctx, entry, args, opts.jobOptions, opts.machineOptions)
	if err != nil {
		return err
	}
	if err := a.ShowDiagnostics(opts.format, files, diagnostics); err != nil {
		return err
	}
	if diagnostics.HasErrors() {
		return exit.Silent(verdict.Usage)
	}
	if opts.format == console.FormatPlain {
		_, err = fmt.Fprintln(a.Streams.Out, valid(files, diagnostics))
	}
	return err
}

// valid returns a line that says that files are valid, with the numbers of
// warnings, notices and hints.
func valid(files []jobfile.File, diagnostics jobspec.Diagnostics) string {
	text := fmt.Sprintf("%d job files are valid", len(files))
	if len(files) == 1 {
		text = fmt.Sprintf("%s is valid", visible.String(files[0].Name))
	}
	count := map[jobspec.Severity]int{}
	for _, d := range diagnostics {
		count[d.Severity]++
	}
	joint := ", with "
	for _, s := range []jobspec.Severity{jobspec.Warning, jobspec.Notice, jobspec.Hint} {
		if n := count[s]; n > 0 {
			text += joint + prose.Count(n, s.String())
			joint = " and "
		}
	}
	return text
}
