package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
)

func newOpenCommand(a *app) *cobra.Command {
	var at lookup.Connection
	cmd := &cobra.Command{
		Use:   "open TARGET[:LABEL]",
		Short: "Open the address of a task in a browser",
		Long: `Open the address of a port of a running task in a browser: $BROWSER or that of
the desktop. The address is printed, too. LABEL may be left out if the task has
only one port. The scheme is https for port 443 and for a port that is labeled
https, otherwise http.

` + lookup.TargetHelp + `

Exit codes:
  0    success
  1    no task matches TARGET, it is not running or has no such port, or the
       browser failed
  2    the call is wrong
  125  taskrun itself failed, or the run refused`,
		Example: `  taskrun open web
  taskrun open 'app[1]/web:admin'`,
		Args:              arguments(1, 1),
		ValidArgsFunction: completeTargets(a, &at),
		RunE:              func(cmd *cobra.Command, args []string) error { return runOpen(cmd.Context(), a, args[0], at) },
	}
	at.Bind(cmd.Flags())
	completeFilters(a, cmd, &at)
	return cmd
}

func runOpen(ctx context.Context, a *app, what string, at lookup.Connection) error {
	target, label := what, ""
	if i := strings.LastIndexByte(what, ':'); i >= 0 {
		target, label = what[:i], what[i+1:]
	}
	if target == "" {
		return exit.Usage("the task is missing in %q", what).WithHint("see: taskrun port")
	}
	ports, labels, err := findPorts(ctx, a, target, label, at)
	if err != nil {
		return err
	}
	if len(ports) > 1 {
		var names []string
		for _, p := range ports {
			names = append(names, labels[p.Task]+":"+p.Label)
		}
		return exit.Failed("%q has %d ports", target, len(ports)).WithHint("open one of: %s", strings.Join(names, ", "))
	}
	url := console.URLOf(ports[0])
	fmt.Fprintln(a.Streams.Out, url)
	c := a.Browser(ctx, url)
	c.Stdin, c.Stdout, c.Stderr = a.Streams.In, a.Streams.Err, a.Streams.Err
	if err := c.Run(); err != nil {
		return exit.Failed("cannot open a browser: %w", err).WithHint("set $BROWSER, or open the address by hand")
	}
	return nil
}
