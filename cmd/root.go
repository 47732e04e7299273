package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/config"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/drivers"
)

// app is what commands work with: everything that they need of the world.
type app struct {
	streams *ui.Streams
	environ []string // "K=V"
	drivers func() map[string]drivers.Driver
	signals func() (signals <-chan os.Signal, stop func())

	// Flags of every command.
	colour     ui.ColourMode
	configFile string

	unheeded map[string][]preflight.Unheeded // options of drivers, by driver
	healthOf *preflight.Health               // nil until it is needed

	meeting meeting // where the runs of this user meet

	understood bool // the command line and the config are in order
	jsonErrors bool // errors go to stdout, as diagnostics
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "taskrun",
		Short: "Run a Nomad job file on this machine",
		Long: `taskrun runs a HashiCorp Nomad job file on this machine, without a cluster: in
the order, with the restarts, the events and the environment of a Nomad client.

Every flag may also be given as an environment variable (--data-dir as
TASKRUN_DATA_DIR) or in a config file (as data-dir): config.hcl, config.toml,
config.yaml or config.json in $XDG_CONFIG_HOME/taskrun. The flag wins, then the
variable, then the file. A repeated flag is a list in the file, and one value a
line in a variable. Options of drivers are only in the file, as in Nomad's agent
configuration: plugin "raw_exec" { config { … } }, or plugin.raw_exec.config.`,
		Example: `  taskrun up job.nomad.hcl
  taskrun validate *.nomad.hcl`,
		Args: a.unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.configure(cmd); err != nil {
				return err
			}
			a.sweep(cmd)
			return nil
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDescriptions = true
	flags := root.PersistentFlags()
	flags.Var(&a.colour, "color", "use color: auto, always or never")
	flags.StringVar(&a.configFile, "config", "", "config `file` (default: config.hcl, .toml, .yaml or .json in $XDG_CONFIG_HOME/taskrun)")
	complete(root, "color", string(ui.ColourAuto), string(ui.ColourAlways), string(ui.ColourNever))
	root.SetHelpCommand(a.helpCommand())
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"run", "Run jobs:", []*cobra.Command{a.upCommand(), a.rehearseCommand(), a.planCommand(), a.updateCommand()}},
		{"check", "Check job files:", []*cobra.Command{a.validateCommand(), a.inspectCommand(), a.fmtCommand(), a.stubsCommand()}},
		{"see", "See what runs:", []*cobra.Command{a.psCommand(), a.logsCommand(), a.eventsCommand(), a.statsCommand(), a.attachCommand()}},
		{"act", "Act on what runs:", []*cobra.Command{
			a.execCommand(), a.actionCommand(), a.stopCommand(), a.restartCommand(), a.signalCommand(), a.dispatchCommand(),
			a.scaleCommand(), a.promoteCommand(), a.revertCommand(),
		}},
		{"other", "Other commands:", []*cobra.Command{a.cleanCommand(), a.versionCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.localCommand(), a.engineCommand())
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.SetUsageFunc(usage)
	return root
}

// complete lets shells complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the command has no such flag
	}
}

// configure gives the flags that the command line left out their values.
func (a *app) configure(cmd *cobra.Command) error {
	path := a.configFile
	if path == "" {
		path = a.streams.Env(config.EnvName("config"))
	}
	if path == "" {
		var err error
		if path, err = config.Find(a.streams.Env); err != nil {
			return err
		}
	}
	plugins, err := config.Apply(cmd.Flags(), config.Sources{
		Env: a.streams.Env, File: path, Keys: func() []string { return optionNames(cmd.Root()) }, Drivers: a.driverOptions,
	})
	if err != nil {
		return err
	}
	if err := a.configureDrivers(plugins); err != nil {
		return err
	}
	a.understood = true
	return nil
}

// driverOptions are the schemas of the drivers' own options.
func (a *app) driverOptions() config.Schemas {
	schemas := config.Schemas{}
	for name, d := range a.drivers() {
		schemas[name] = nil
		if d, ok := d.(drivers.Configurable); ok {
			schemas[name] = d.ConfigSchema()
		}
	}
	return schemas
}

// configureDrivers gives drivers their options.
func (a *app) configureDrivers(plugins []config.Plugin) error {
	a.unheeded = map[string][]preflight.Unheeded{}
	for _, p := range plugins {
		if err := a.drivers()[p.Name].(drivers.Configurable).SetConfig(p.Config); err != nil {
			return fmt.Errorf("cannot use config file %s: %w", p.Origin, err)
		}
		d, ok := a.drivers()[p.Name].(drivers.Unheeder)
		if !ok {
			continue
		}
		for _, o := range d.Unheeded(p.Config) {
			a.unheeded[p.Name] = append(a.unheeded[p.Name], preflight.Unheeded{Unheeded: o, At: p.At(o.Option)})
		}
	}
	return nil
}

// optionNames are the keys that a config file may have: the flags of all
// commands.
func optionNames(root *cobra.Command) []string {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(root.PersistentFlags())
	for _, c := range root.Commands() {
		if c.Name() != "completion" && c.Name() != "help" {
			all.AddFlagSet(c.Flags())
		}
	}
	return config.Options(all)
}

// unknownCommand refuses the arguments of the bare command.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usageError("unknown command %q", args[0])
	if _, statErr := os.Stat(args[0]); statErr == nil {
		return err.withHint("to run a job file: taskrun up %s", args[0])
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return err.withHint("did you mean %q?", near[0])
	}
	return err.withHint("see: taskrun --help")
}

// wrongCall is an error found before a command began to work.
func wrongCall(cmd *cobra.Command, err error) error {
	var exit *exitError
	if errors.As(err, &exit) {
		return err
	}
	return usageError("%w", err).withHint("see: %s --help", cmd.CommandPath())
}

// singleDash are the flags that a user of Nomad is used to write with one dash.
var singleDash = append([]string{
	"var", "var-file", "check", "recursive", "task", "job", "tail", "stderr", "stdout", "address", "meta", "purge", "detach", "no-shutdown-delay", "http-auth",
}, clusterFlags...)

// nomadSpelling lets flags be written with one dash where a user of Nomad is
// used to it. What a command that is to be executed may be given stays as it
// is: all that follows "--" or, of exec, a word that is no flag's value.
func nomadSpelling(args []string) []string {
	out := slices.Clone(args)
	executes := false
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if executes && !strings.HasPrefix(arg, "-") && (!strings.HasPrefix(args[i-1], "-") || strings.Contains(args[i-1], "=")) {
			break
		}
		executes = executes || arg == "exec"
		name, _, _ := strings.Cut(arg, "=")
		if flag, ok := strings.CutPrefix(name, "-"); ok && slices.Contains(singleDash, flag) {
			out[i] = "-" + arg
		}
	}
	return out
}
