package cmd

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/config"
	"taskrun/cmd/preflight"
	"taskrun/drivers"
)

// configure sets the flags that the command line omits, from the environment
// and the config file.
func (a *app) configure(cmd *cobra.Command) error {
	path := cmp.Or(a.configFile, a.Streams.Env(config.EnvName("config")))
	if path == "" {
		var err error
		if path, err = config.Find(a.Streams.Env); err != nil {
			return err
		}
	}
	plugins, err := config.Apply(cmd.Flags(), config.Sources{
		Env: a.Streams.Env, File: path, Keys: func() []string { return optionNames(Commands()) }, Drivers: a.driverOptions,
	})
	if err != nil {
		return err
	}
	a.unheeded = map[string][]preflight.Unheeded{}
	if err := a.addDriverOptions(plugins); err != nil {
		return err
	}
	a.understood = true
	return nil
}

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

func (a *app) addDriverOptions(plugins []config.Plugin) error {
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

// optionNames returns the keys that a config file may contain: the flags of all
// commands.
func optionNames(root *cobra.Command) []string {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		if all.Lookup(f.Name) == nil {
			named := *f
			named.Shorthand = "" // a letter is another flag in another command
			all.AddFlag(&named)
		}
	}
	root.PersistentFlags().VisitAll(add)
	var commands []*cobra.Command
	for _, c := range root.Commands() {
		commands = append(append(commands, c), c.Commands()...)
	}
	for _, c := range commands {
		if c.Name() != "completion" && c.Name() != "help" {
			c.Flags().VisitAll(add)
		}
	}
	return config.Options(all)
}
