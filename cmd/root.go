// Package cmd implements the command tree. It is the only package that joins
// all parts of taskrun.
package cmd

import (
	"context"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
	"taskrun/drivers/catalog"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec/visible"
)

// Main runs the command line and returns the exit code.
func Main() int {
	if keeper.Main(cleanUp) {
		return verdict.OK
	}
	c := &console.Console{Streams: ui.System(), Environ: os.Environ(), Signals: console.WatchSignals, Color: ui.ColorAuto}
	a := newApp(c, sync.OnceValue(catalog.New))
	return a.run(context.Background(), os.Args[1:])
}

func (a *app) run(ctx context.Context, args []string) int {
	args = nomadSpelling(args)
	root := newRootCommand(a, args...)
	root.SetArgs(args)
	root.SetIn(a.Streams.In)
	root.SetOut(visible.Writer{To: a.Streams.Out})
	root.SetErr(visible.Writer{To: a.Streams.Err})
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.understood {
		err = wrongCall(cmd, err)
	}
	a.PrintError(err)
	return exit.Code(err)
}

// Commands returns the tree of commands, from which man pages are made.
func Commands() *cobra.Command {
	return newRootCommand(newApp(&console.Console{Color: ui.ColorAuto}, nil))
}

// newRootCommand returns the tree of commands that is needed for these arguments.
func newRootCommand(a *app, args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:   "taskrun",
		Short: "Run a Nomad job file on this machine",
		Long: `taskrun runs a HashiCorp Nomad job file on this machine, without a cluster: in
the order, with the restarts, the events and the environment of a Nomad client.

Every flag may also be given as an environment variable (--data-dir as
TASKRUN_DATA_DIR) or in a config file (as data-dir): config.hcl, config.toml,
config.yaml or config.json in $XDG_CONFIG_HOME/taskrun. The flag wins, then the
variable, then the file. A repeated flag is a list in the file, and has one
value per line in a variable. Only the file can contain options of drivers, as
in the configuration of a Nomad agent: plugin "raw_exec" { config { … } }, or
plugin.raw_exec.config.`,
		Example: `  taskrun up job.nomad.hcl
  taskrun validate *.nomad.hcl`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.configure(cmd); err != nil {
				return err
			}
			output := cmd.Flags().Lookup("output")
			a.JSONErrors = output != nil && output.Value.String() == string(ui.JSON)
			sweepFirst(a, cmd)
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.CompletionOptions.DisableDescriptions = true
	flags := root.PersistentFlags()
	bindChoice(root, flags, "color", "use color: auto, always or never",
		ui.Choice[ui.ColorMode]{To: &a.Color, Kind: "when", Values: []ui.ColorMode{ui.ColorAuto, ui.ColorAlways, ui.ColorNever}})
	flags.StringVar(&a.configFile, "config", "", "config `file` (default: config.hcl, .toml, .yaml or .json in $XDG_CONFIG_HOME/taskrun)")
	root.SetHelpCommand(newHelpCommand(a))
	root.SetUsageFunc(printUsage)
	root.AddGroup(commandGroups...)
	root.AddCommand(construct(a, args)...)
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	return root
}
