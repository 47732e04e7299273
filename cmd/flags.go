package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/ci"
	"taskrun/cmd/exit"
	"taskrun/cmd/prose"
	"taskrun/cmd/ui"
)

func bindOutput(cmd *cobra.Command, mode *ui.Mode, usage string) {
	bindChoice(cmd, cmd.Flags(), "output", usage, ui.Choice[ui.Mode]{To: mode, Kind: "mode", Values: []ui.Mode{ui.Plain, ui.JSON, ui.Quiet}})
}

// bindChoice adds a flag that takes one of several words.
func bindChoice[T ~string](cmd *cobra.Command, flags *pflag.FlagSet, name, usage string, c ui.Choice[T]) {
	flags.Var(c, name, usage)
	complete(cmd, name, c.Words()...)
}

func bindTime(cmd *cobra.Command, format *ui.TimeFormat) {
	bindChoice(cmd, cmd.Flags(), "time", "time before each line: clock, elapsed, iso or none",
		ui.Choice[ui.TimeFormat]{To: format, Kind: "format", Values: []ui.TimeFormat{ui.TimeClock, ui.TimeElapsed, ui.TimeISO, ui.TimeNone}})
}

// bindVerbose adds the flag that also shows events that only repeat a change of
// state.
func bindVerbose(flags *pflag.FlagSet, verbose *bool) {
	flags.BoolVar(verbose, "verbose", false, "show every task event")
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// complete lets shells complete the values of a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func completeFlag(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // a mistake in the program: no such flag
	}
}

func startingWith(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

func hide(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Hidden = true
	}
}

// bindDataDir adds the flag of commands that look for runs that have ended.
func bindDataDir(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "data-dir", "", "`directory` with the runs (default: $XDG_STATE_HOME/taskrun; for root /var/lib/taskrun)")
}

// orphansFlag lists what dead runs left behind, instead of cleaning it up.
const orphansFlag = "orphans"

// anyNumber is the upper limit of commands that take any number of arguments.
const anyNumber = 1 << 30

// arguments returns a check that a command has from least to most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	var takes string
	switch {
	case most == 0:
		takes = "no arguments"
	case most == least:
		takes = prose.Count(least, "argument")
	case most == anyNumber:
		takes = "at least " + prose.Count(least, "argument")
	case least == 0:
		takes = "at most " + prose.Count(most, "argument")
	default:
		takes = fmt.Sprintf("%d to %s", least, prose.Count(most, "argument"))
	}
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return exit.Usage("%s takes %s, not %d", cmd.CommandPath(), takes, len(args)).WithHint("usage: %s", cmd.UseLine())
	}
}

// flagWords returns the flags that were given, as words of a command line, without some.
func flagWords(flags *pflag.FlagSet, without ...string) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(without, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return words
}

// bindReports adds the flags of commands that report to a CI system.
func bindReports(cmd *cobra.Command, o *ci.Options) {
	bindReport(cmd, o)
	cmd.Flags().StringVar(&o.JUnit, "junit", "", "write a report in JUnit XML to a `file`")
}

func bindReport(cmd *cobra.Command, o *ci.Options) {
	cmd.Flags().Var(&o.To, "report", "report to github (the default there), gitlab[=FILE] or none")
	complete(cmd, "report", "github", "gitlab", "gitlab=", "none")
}
