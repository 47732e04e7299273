package cmd

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
)

// A call constructs the command that it names, by the name that the command has, and
// all commands if there may be another way to find it.
func TestCommandsOfACall(t *testing.T) {
	t.Parallel()
	a := newApp(&console.Console{Color: ui.ColorAuto}, nil)
	names := func(args ...string) (names []string) {
		for _, c := range newRootCommand(a, args...).Commands() {
			names = append(names, c.Name())
		}
		return names
	}
	var all []string
	for _, c := range allCommands() {
		all = append(all, c.name)
		if got := names(c.name, "--help"); !slices.Equal(got, []string{c.name}) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	slices.Sort(all) // as cobra does
	for _, args := range [][]string{nil, {"help", "up"}, {"--color", "never", "up"}, {cobra.ShellCompRequestCmd, "up", ""}, {"upp"}} {
		if got := names(args...); !slices.Equal(got, all) {
			t.Errorf("%v: %v", args, got)
		}
	}
}
