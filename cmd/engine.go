package cmd

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/drivers/process/keeper"
)

// newEngineCommand is the engine of a run in the background, which "up --detach"
// starts under a keeper. It reads its jobs from a file.
func newEngineCommand(a *app) *cobra.Command {
	var opts upOptions
	cmd := &cobra.Command{
		Use:    "engine FILE",
		Short:  "Run the engine of a run in the background",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			collectRarely()
			watch := keeper.New()
			if !watch.Detached() {
				return usageError("cannot run an engine without its keeper").withHint("start both with: taskrun up --detach FILE")
			}
			dataDir, err := a.dataDir(opts.dataDir)
			if err != nil {
				return err
			}
			return runDetached(cmd.Context(), a, watch, args[0], opts, dataDir)
		},
	}
	opts.bindEngine(cmd.Flags())
	return cmd
}

// engineArgs is the command line of an engine that goes by the flags of another
// command. A flag of the command line stands there even with its default value:
// the engine reads the environment and the config file too.
func engineArgs(a *app, file string, flags *pflag.FlagSet) []string {
	args := []string{"engine", file}
	if a.configFile != "" {
		args = append(args, "--config="+a.configFile)
	}
	newEngineCommand(a).Flags().VisitAll(func(f *pflag.Flag) {
		if given := flags.Lookup(f.Name); given.Changed || given.Value.String() != f.DefValue {
			args = append(args, "--"+f.Name+"="+given.Value.String())
		}
	})
	return args
}
