package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/lookup"
)

// helpWidth is the maximum width of help, in columns.
const helpWidth = 80

type flagGroup struct {
	title string
	flags []string
}

// inGroup is the annotation of a flag that is in a group, although the flag with that
// name of another command is not.
const inGroup = "group"

// flagGroups are the groups in which help lists flags. Flags in none of them
// are specific to a command, and come first.
var flagGroups = []flagGroup{
	{"Job", []string{"var", "var-file", "stubs", "strict", "driver", "agent", "no-restart", "now"}},
	{"Output", []string{"output", "time", "verbose", "report", "junit", "color", "help"}},
	{"Ending", []string{"timeout", "until", "fail-fast", "exit-code-from", "repeat", "until-fail", "detach", "ui", "wait", "watch"}},
	{"Cluster", append([]string{"address"}, lookup.ClusterFlags...)},
	{"Expert", []string{"data-dir", "neighbors", "http", "enforce-memory", "memory-oversubscription", "host-paths", "max-allocs", "config"}},
}

func printUsage(cmd *cobra.Command) error {
	var out strings.Builder
	out.WriteString("Usage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&out, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&out, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&out, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Commands:"}) {
		list := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
			return c.GroupID != group.ID || !c.IsAvailableCommand() && c.Name() != "help"
		})
		if len(list) > 0 {
			fmt.Fprintf(&out, "\n%s\n", group.Title)
		}
		for _, c := range list {
			fmt.Fprintf(&out, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	writeFlags(&out, cmd)
	if !cmd.HasParent() {
		out.WriteString(topics())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&out, "\nUse \"%s [command] --help\" or \"taskrun help TOPIC\" for more.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStderr(), out.String())
	return err
}

// writeFlags lists the flags of a command by group.
func writeFlags(out *strings.Builder, cmd *cobra.Command) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.AddFlagSet(cmd.LocalFlags())
	own.AddFlagSet(cmd.InheritedFlags())
	var groups strings.Builder
	for _, group := range flagGroups {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range group.flags {
			if f := own.Lookup(name); f != nil && !f.Hidden {
				set.AddFlag(f)
			}
		}
		own.VisitAll(func(f *pflag.Flag) {
			if slices.Contains(f.Annotations[inGroup], group.title) {
				set.AddFlag(f)
			}
		})
		if set.HasFlags() {
			fmt.Fprintf(&groups, "\n%s flags:\n%s", group.title, set.FlagUsagesWrapped(helpWidth))
		}
	}
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[inGroup] == nil && !slices.ContainsFunc(flagGroups, func(g flagGroup) bool { return slices.Contains(g.flags, f.Name) }) {
			rest.AddFlag(f)
		}
	})
	if rest.HasAvailableFlags() {
		fmt.Fprintf(out, "\nFlags:\n%s", rest.FlagUsagesWrapped(helpWidth))
	}
	out.WriteString(groups.String())
}
