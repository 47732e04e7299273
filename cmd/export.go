package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/prose"
	"taskrun/cmd/record"
	"taskrun/engine/leaf/event"
)

type exportOptions struct {
	force, noOutput, environment bool
	dataDir                      string
}

func newExportCommand(a *app) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use:   "export RUN FILE",
		Short: "Pack a run into a file, without its secrets",
		Long: `Pack a run into a file that others can look at with "events", "logs", "trace"
and "diff". FILE is a zip, which should end in .zip; "-" is stdout. For a run in
progress, the file has what happened so far.

` + lookup.RunNameHelp + `

The file contains
  - how the run ended, and all its events;
  - the job, without values of its environment, without those that come from
    outside the job file, and without credentials in URLs;
  - the output of tasks, with times, unless --no-output leaves it out: it may
    contain secrets that taskrun cannot recognize;
  - with --environment, environments and rendered templates of tasks as they are
    kept, with likely secrets hidden.
It never contains the secrets directories of tasks, tokens of workload
identities, or stubs. Values that are written in the job file itself, such as
the arguments of a command, remain.

Exit codes:
  0    the file is written
  1    there is no such run, or the file exists
  2    the call is wrong
  125  the file could not be written`,
		Example: `  taskrun export web web.zip
  taskrun export --no-output web/20260102T030405.006Z-0a1b bug.zip
  taskrun export web - | ssh colleague 'cat >web.zip'`,
		Args:              arguments(2, 2),
		ValidArgsFunction: inTurn(completeRunNames(a, &opts.dataDir, 1), cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), cobra.NoFileCompletions),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExport(cmd.Context(), a, args[0], args[1], opts)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&opts.force, "force", "f", false, "replace FILE if it exists")
	flags.BoolVar(&opts.noOutput, "no-output", false, "leave out the output of tasks and checks")
	flags.BoolVar(&opts.environment, "environment", false, "include environments and rendered templates, with likely secrets hidden")
	bindDataDir(flags, &opts.dataDir)
	return cmd
}

func runExport(ctx context.Context, a *app, name, path string, opts exportOptions) error {
	if path == "-" && a.Streams.OutTerm {
		return exit.Usage("cannot write a zip to a terminal").WithHint("name a file, or redirect stdout")
	}
	if _, err := os.Lstat(path); path != "-" && err == nil && !opts.force {
		return fileExists(path)
	}
	r, err := a.runs.OpenRun(ctx, name, opts.dataDir)
	if err != nil {
		return err
	}
	defer r.Close()
	secrets, err := secretsOf(ctx, r)
	if err != nil {
		return err
	}
	x := &record.Export{
		Version: currentVersion().Version, Now: time.Now(), Secrets: secrets,
		Output: !opts.noOutput, Environment: opts.environment,
	}
	var contents record.Contents
	write := func(w io.Writer) (err error) {
		contents, err = x.Write(w, r.Run)
		return err
	}
	if path == "-" {
		err = write(a.Streams.Out)
	} else {
		err = writeWhole(path, opts.force, write)
	}
	if err != nil {
		return err
	}
	a.runs.WarnOf(r.Run)
	a.tellExport(r, path, contents)
	return nil
}

func (a *app) tellExport(r *lookup.Opened, path string, c record.Contents) {
	parts := []string{prose.Count(c.Events, "event")}
	if c.Job {
		parts = append(parts, "the job without secrets")
	}
	if c.Environment {
		parts = append(parts, "environments with secrets hidden")
	}
	if c.Outputs > 0 {
		parts = append(parts, event.Size(c.OutputBytes)+" of output")
	}
	if path == "-" {
		path = "stdout"
	}
	a.Say("exported run %s to %s: %s", r.Name(), path, strings.Join(parts, ", "))
	if c.Outputs > 0 {
		a.Say("the output of tasks may contain secrets; leave it out with --no-output")
	}
	if r.Engine == nil && r.Summary == nil && !r.Live {
		a.Say("the run was killed: how it ended is not known")
	}
}

// secretsOf returns the secret values that the engine of a live run knows.
func secretsOf(ctx context.Context, r *lookup.Opened) (secrets []string, err error) {
	if r.Engine == nil {
		return nil, nil
	}
	s, id := r.Engine.Server.Of(r.Job)
	job, _, err := s.Info(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			secrets = slices.AppendSeq(secrets, maps.Values(t.Env))
		}
	}
	variables, err := r.Engine.Server.VariableValues(ctx)
	return append(secrets, variables...), err
}

func fileExists(path string) error {
	return exit.Failed("%q exists", path).WithHint("replace it with --force")
}

// writeWhole writes a file that only this user can read, at once or not at all.
func writeWhole(path string, replace bool, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".taskrun-*") // mode 0600
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	if !replace {
		err = os.Link(f.Name(), path) // which replaces nothing
		if errors.Is(err, fs.ErrExist) {
			return fileExists(path)
		}
		if err == nil {
			return nil
		}
	}
	if err := os.Rename(f.Name(), path); err != nil { // also where there are no links
		return fmt.Errorf("cannot write %q: %w", path, err)
	}
	return nil
}
