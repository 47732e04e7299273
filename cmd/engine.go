package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"taskrun/cmd/enginerun"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/preflight"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
)

// newEngineCommand is the engine of a run in the background, which "up
// --detach" starts under a keeper. It reads its jobs from a file.
func newEngineCommand(a *app) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:    "engine FILE",
		Short:  "Run the engine of a run in the background",
		Hidden: true,
		Args:   arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			garbage.CollectRarely()
			watch := keeper.New()
			if !watch.Detached() {
				return exit.Usage("cannot run an engine without its keeper").WithHint("start both with: taskrun up --detach FILE")
			}
			dataDir, err := a.runs.DataDir(opts.dataDir)
			if err != nil {
				return err
			}
			return runBackground(cmd.Context(), a, watch, args[0], opts, dataDir)
		},
	}
	opts.bindEngine(cmd.Flags())
	return cmd
}

// runBackground is an engine of a run in the background.
func runBackground(ctx context.Context, a *app, watch *keeper.Watch, path string, opts upOptions, dataDir string) (err error) {
	defer func() { tellStart(watch, err) }()
	b, err := enginerun.TakeOver(watch, path)
	if err != nil {
		return err
	}
	files, warnings := b.Input().Files()
	if opts.enforce {
		warnings = append(warnings, preflight.EnforceMemory(preflightFiles(files), a.drivers())...)
	}
	watched := b.Input().Watch
	if watched != nil {
		opts.watchAgain(watched)
	}
	p, err := opts.policy(files)
	if err != nil {
		return err
	}
	o := opts.engineRun(a, files, warnings, p, dataDir)
	o.Watch = watch
	if watched != nil {
		o.Follow = func(ctx context.Context, e *engine.Engine) {
			watchFiles(ctx, a, e, watched.Names, nil, opts, watched.Since)
		}
	}
	return b.Go(ctx, o)
}

// tellStart tells the program that started an engine or an agent in the background why
// it has not started.
func tellStart(watch *keeper.Watch, err error) {
	if told := exit.Pack(err); told != nil {
		_ = watch.Stands("", told) // the log has the error as well
	}
}
