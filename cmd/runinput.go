package cmd

import (
	"context"
	"errors"

	"taskrun/cmd/jobfile"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/port"
	"taskrun/jobspec"
)

// readToRun reads the files and tells of everything that keeps them from being
// run; the error is silent then. The warnings are for the view of the run.
func readToRun(ctx context.Context, a *app, args []string, opts upOptions, dataDir string, stage *rehearsalRun) ([]jobfile.File, jobspec.Diagnostics, error) {
	if err := opts.drivers.check(a.drivers()); err != nil {
		return nil, nil, err
	}
	files, diagnostics, err := a.read(ctx, args, opts.jobOptions)
	if err != nil {
		return nil, nil, err
	}
	opts.dataDir = dataDir
	c, done := a.preflight(opts.entry(), files, opts.jobOptions, opts.machineOptions)
	defer done()
	c.EnforceMemory = opts.enforce
	c.Prepare()
	if stage != nil {
		stage.admit(c.Files)
	}
	diagnostics = opts.wanted(sorted(diagnostics, c.Check()))
	if err := a.refuse(files, diagnostics, opts.mode); err != nil {
		return nil, nil, err
	}
	if stage != nil {
		stage.cast(files)
	}
	if opts.noRestart {
		neverRestart(jobfile.Jobs(files))
	}
	return files, diagnostics, nil
}

// submitError decides the exit code when the engine refused the jobs.
func submitError(err error) error {
	if errors.Is(err, allocdir.ErrInUse) {
		return usageError("%w", err).withHint("stop it, or update it with taskrun update, or run this one beside it with --data-dir")
	}
	if errors.Is(err, port.ErrInUse) {
		return usageError("%w", err).withHint("stop who has it, or give the port another number")
	}
	return err
}
