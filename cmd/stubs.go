package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/prose"
	"taskrun/cmd/rehearse"
	"taskrun/cmd/textfile"
	"taskrun/cmd/verdict"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/stub/needs"
)

type stubsOptions struct {
	jobOptions
	merge bool
}

func newStubsCommand(a *app) *cobra.Command {
	var opts stubsOptions
	cmd := &cobra.Command{
		Use:   "stubs [FILE]",
		Short: "Print the stubs that a job file needs, to fill in",
		Long: `Print a stubs file with everything that a job file needs from a cluster:
variables without a value, Nomad variables, Consul keys, Vault secrets, services
that run elsewhere, host volumes, credentials of artifacts and values of the
node, each with its place in the job file. "taskrun rehearse" works with it as
it is; "taskrun up" once each TODO(…) that it needs is replaced with a value.
Save it as taskrun.hcl beside the job file, which is where both read it, or name
it with --stubs.

With --merge, add missing blocks to that file, and keep everything in it.

` + fileHelp,
		Example: `  taskrun stubs job.nomad.hcl > taskrun.hcl
  taskrun stubs --merge job.nomad.hcl`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return runStubs(cmd.Context(), a, args, opts) },
	}
	opts.bind(cmd.Flags())
	opts.bindStubs(cmd.Flags())
	cmd.Flags().BoolVar(&opts.merge, "merge", false, "add missing stubs to the stubs file, and keep the others")
	return cmd
}

// newLocalCommand is the old spelling of stubs.
func newLocalCommand(a *app) *cobra.Command {
	cmd := newStubsCommand(a)
	cmd.Use, cmd.Hidden = "local [FILE]", true
	return cmd
}

func runStubs(ctx context.Context, a *app, args []string, opts stubsOptions) error {
	opts.Outline, opts.Placeholders, opts.Fit = true, true, func(f jobfile.File) int { return len(caseOf(a, f).Check().Errors()) }
	target := ""
	if opts.merge {
		target = opts.stubsFile()
		if _, err := os.Stat(target); target != "" && errors.Is(err, fs.ErrNotExist) {
			opts.stubs, opts.local, opts.Stubbed = "", "", false // a new file
		}
	} else if opts.Stubbed = false; opts.flags.Changed("stubs") || opts.flags.Changed("local") {
		return exit.Usage("--stubs is for --merge: without it, the stubs are printed")
	} else {
		opts.stubs, opts.local = "", ""
	}
	files, diagnostics, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return err
	}
	if a.PrintDiagnostics(files, diagnostics.Errors()); diagnostics.HasErrors() {
		return exit.Silent(verdict.Usage)
	}
	file := files[0]
	if opts.merge && target == "" {
		target = cmp.Or(file.Stubs.File, filepath.Join(folderOf(file.Name), stub.DefaultName))
	}
	text, err := textfile.Read(target)
	switch {
	case target == "", errors.Is(err, fs.ErrNotExist):
		text = nil
	case err != nil:
		return exit.Usage("cannot read the stubs file %q: %w", target, err)
	}
	merged, added, diagnostics := outlined(a, file, target, text)
	if a.PrintDiagnostics(files, diagnostics.Errors()); diagnostics.HasErrors() {
		return exit.Silent(verdict.Usage)
	}
	if !opts.merge {
		_, err := a.Streams.Data().Write(merged)
		return err
	}
	return saveStubs(a, target, text, merged, added)
}

// folderOf returns the folder of a job file; that of stdin or a URL is the
// current one.
func folderOf(name string) string {
	if name == "-" || strings.Contains(name, "://") {
		return "."
	}
	return filepath.Dir(name)
}

// saveStubs writes a changed stubs file, and says what was added.
func saveStubs(a *app, target string, before, after []byte, added []string) error {
	if bytes.Equal(before, after) {
		a.Report("", target+" has everything already")
		return nil
	}
	if err := textfile.Save(target, after); err != nil {
		return fmt.Errorf("cannot write the stubs file %q: %w", target, err)
	}
	a.Report("", fmt.Sprintf("added %s to %s", prose.Count(len(added), "stub"), target))
	for _, line := range added {
		a.Report(" ", line)
	}
	return nil
}

// caseOf returns the prepared case of a file whose stubs are listed.
func caseOf(a *app, f jobfile.File) *preflight.Case {
	known := rehearse.Mocks(a.drivers(), nil)
	rehearse.Admit(known, f.Job, nil)
	c := &preflight.Case{
		Entry: preflight.Outline, Files: preflightFiles([]jobfile.File{f}), Stubs: cmp.Or(f.Stubs, stub.None()), Drivers: known,
		Health: preflight.NewHealth(known), Environ: a.Environ,
	}
	c.Prepare()
	return c
}

// maxOutlines limits how often stubs are listed: a value can lead to further
// requests of a template.
const maxOutlines = 10

// outlined adds the stubs that a file needs to a text.
func outlined(a *app, f jobfile.File, target string, text []byte) (merged []byte, added []string, diagnostics jobspec.Diagnostics) {
	c := caseOf(a, f)
	name := cmp.Or(target, stub.DefaultName)
	stubs := f.Stubs
	for range maxOutlines {
		before := merged
		merged, added, diagnostics = needs.Merge(text, name, needs.Job{
			File: f.File, Name: f.Name, Node: c.Machine(),
			Requests: func(group, task int) []stub.Request { return c.Requests(0, group, task, stubs) },
		})
		if diagnostics.HasErrors() || bytes.Equal(before, merged) {
			break
		}
		if stubs, diagnostics = stub.Parse(name, merged); stubs == nil {
			break
		}
	}
	return merged, added, diagnostics
}
