package cmd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/console"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

// visibleCommands returns a command and all commands below it that help shows.
func visibleCommands(c *cobra.Command) (all []*cobra.Command) {
	if c.HasParent() && !c.IsAvailableCommand() {
		return nil
	}
	all = append(all, c)
	for _, below := range c.Commands() {
		all = append(all, visibleCommands(below)...)
	}
	return all
}

// visibleFlags returns the names of the flags of a command that help shows.
func visibleFlags(c *cobra.Command) (names []string) {
	allFlags(c).VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			names = append(names, f.Name)
		}
	})
	return names
}

// ran returns what a command prints to stdout.
func ran(t *testing.T, args ...string) string {
	t.Helper()
	streams, out, errs := ui.Test()
	dir := t.TempDir()
	streams.Env = func(name string) string { // completion looks for runs
		return map[string]string{"XDG_RUNTIME_DIR": dir, "HOME": dir}[name]
	}
	a := newApp(&console.Console{Streams: streams, Color: ui.ColorAuto}, nil)
	if code := a.run(t.Context(), args); code != verdict.OK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	return out.String()
}

// commandTree returns the commands with everything that cobra adds.
func commandTree() *cobra.Command {
	root := Commands()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("x")
	return root
}

// TestCompletion checks that shells complete every command and every flag.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, c := range visibleCommands(commandTree()) {
		path := strings.Fields(c.CommandPath())[1:]
		t.Run(strings.Join(append(path, "-"), " "), func(t *testing.T) { // the tree is not safe for concurrent use
			names := completions(ran(t, append(append([]string{"__complete"}, path...), "")...))
			for _, below := range c.Commands() {
				if below.IsAvailableCommand() && !slices.Contains(names, below.Name()) {
					t.Errorf("%s is not completed", below.CommandPath())
				}
			}
			flags := completions(ran(t, append(append([]string{"__complete"}, path...), "--")...))
			for _, flag := range visibleFlags(c) {
				if !slices.Contains(flags, "--"+flag) {
					t.Errorf("--%s is not completed", flag)
				}
			}
		})
	}
	for shell, want := range map[string]string{
		"bash": "complete -o default -F __start_taskrun taskrun", "zsh": "#compdef taskrun", "fish": "complete -c taskrun",
	} {
		if script := ran(t, "completion", shell); !strings.Contains(script, want) || !strings.Contains(script, "__complete") {
			t.Errorf("the script for %s is\n%s", shell, script)
		}
	}
}

// completions returns the words that "__complete" offers.
func completions(out string) (words []string) {
	for line := range strings.Lines(out) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words = append(words, strings.TrimSuffix(word, "="))
	}
	return words
}

// TestReadme checks that the README is short and that its table has every
// command.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > 200 {
		t.Errorf("README.md has %d lines", n)
	}
	for _, c := range Commands().Commands() {
		if c.IsAvailableCommand() && !strings.Contains(string(readme), "\n| `taskrun "+c.Name()) {
			t.Errorf("README.md does not list %q", c.Name())
		}
	}
}
