package cmd

import (
	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/drivers/process/keeper"
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
