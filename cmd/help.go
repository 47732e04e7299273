package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/help"
)

// newHelpCommand is cobra's help command with topics. A topic wins over the
// command with the same name; "taskrun COMMAND --help" still shows the help of
// the command.
func newHelpCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [TOPIC | COMMAND]",
		Short: "Explain a topic or a command",
		Long: `Explain a topic, or show the help of a command. Without an argument list
commands and topics. On a terminal long texts are shown by $PAGER, or less.`,
		Example: `  taskrun help
  taskrun help stubs
  taskrun help up`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith(helpNames(cmd.Root()), prefix), cobra.ShellCompDirectiveNoFileComp
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // works with any configuration
		RunE:              func(cmd *cobra.Command, args []string) error { return runHelp(a, cmd, args) },
	}
}

func runHelp(a *app, cmd *cobra.Command, args []string) error {
	root := cmd.Root()
	if len(args) == 0 {
		return root.Help()
	}
	if t, ok := help.Find(args[0]); ok && len(args) == 1 {
		return showPage(cmd.Context(), a, t.Text(a.Streams.OutStyle(a.Color).Strong))
	}
	if found, rest, err := root.Find(args); err == nil && found != root && len(rest) == 0 {
		return found.Help()
	}
	unknown := exit.Usage("no topic or command %q", strings.Join(args, " "))
	if near := nearestName(args[0], helpNames(root)); near != "" {
		return unknown.WithHint("did you mean %q?", near)
	}
	return unknown.WithHint("topics: %s", strings.Join(help.Names(), ", "))
}

func topics() string {
	var out strings.Builder
	out.WriteString("\nTopics:\n")
	for _, t := range help.Topics() {
		fmt.Fprintf(&out, "  %-12s %s\n", t.Name, t.Summary)
	}
	return out.String()
}

func helpNames(root *cobra.Command) []string {
	names := help.Names()
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// showPage shows a text on stdout. On a terminal it uses $PAGER or, if that is
// not set, less; without a pager it prints the text.
func showPage(ctx context.Context, a *app, text string) error {
	show := func() error { _, err := io.WriteString(a.Streams.Out, text); return err }
	pager := cmp.Or(a.Streams.Env("PAGER"), "if command -v less >/dev/null; then less -R; else cat; fi")
	if !a.Streams.OutTerm || pager == "cat" {
		return show()
	}
	_, stop := a.Signals() // Ctrl-C belongs to the pager
	defer stop()
	cmd := exec.CommandContext(ctx, "sh", "-c", pager)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), a.Streams.Out, a.Streams.Err
	if a.Streams.Env("LESS") == "" {
		cmd.Env = append(slices.Clone(a.Environ), "LESS=FR") // do not page what fits on the screen
	}
	err := cmd.Run()
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case !ok:
		return err
	case exit.ExitCode() == 127: // the shell found no such pager
		return show()
	}
	return nil
}
