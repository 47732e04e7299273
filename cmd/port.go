package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/jobspec/diagnostic"
)

func newPortCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "port [TARGET [LABEL]]",
		Short: "Show the addresses of the ports of tasks",
		Long: `Show the addresses at which this machine reaches the ports of running tasks.
Without TARGET, show those of all tasks. With LABEL, print only the address of
that port, for scripts.

` + lookup.TargetHelp + `

Output:
  plain  a table; with LABEL, only addresses
  json   one object per line for each port
  quiet  only addresses

Exit codes:
  0    success, even if no task has a port
  1    no task matches TARGET, none of the matches is running, or none has the
       port
  2    the call is wrong
  125  taskrun itself failed, or the run refused`,
		Example: `  taskrun port
  curl "http://$(taskrun port web http)/"`,
		Args:              arguments(0, 2),
		ValidArgsFunction: completePorts(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPort(cmd.Context(), a, append(args, "", "")[0], append(args, "", "")[1], opts)
		},
	}
	bindOrder(a, cmd, &opts)
	return cmd
}

func runPort(ctx context.Context, a *app, target, label string, opts orderOptions) error {
	ports, labels, err := findPorts(ctx, a, target, label, opts.Connection)
	if err != nil {
		return err
	}
	if len(ports) == 0 && opts.mode == ui.Plain {
		fmt.Fprintln(a.Streams.Err, "no running task has a port")
		return nil
	}
	var list []answer.Port
	for _, p := range ports {
		list = append(list, answer.Port{Origin: originOf(p.Task), Target: labels[p.Task], Label: p.Label, Address: p.Address(), To: p.To})
	}
	if label != "" && opts.mode == ui.Plain {
		opts.mode = ui.Quiet
	}
	return answer.WritePorts(a.Answer(opts.mode), list)
}

// findPorts returns the ports of running tasks that a target matches: all of them,
// or those with a label. Empty, the target matches all tasks, and there may be no
// port.
func findPorts(ctx context.Context, a *app, target, label string, c lookup.Connection) ([]client.Port, map[*client.Task]string, error) {
	_, all, err := a.runs.Tasks(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	labels, tasks := client.Labels(all), all
	if target != "" {
		if tasks, err = client.Find(all, target); err != nil {
			return nil, nil, lookup.TargetError(err, all, verdict.Failed)
		}
	}
	running := slices.DeleteFunc(slices.Clone(tasks), func(t *client.Task) bool { return !t.Running() })
	if len(running) == 0 && target != "" {
		return nil, nil, exit.Failed("%w", client.NotRunning(target, tasks, labels))
	}
	ports, err := client.Ports(ctx, running)
	if err != nil || target == "" {
		return ports, labels, err
	}
	known := portLabels(ports)
	if len(known) == 0 {
		return nil, nil, exit.Failed("%q has no ports", target)
	}
	ports = slices.DeleteFunc(ports, func(p client.Port) bool { return label != "" && p.Label != label })
	if len(ports) == 0 {
		return nil, nil, exit.Failed("%q has no port %q", target, label).
			WithHint("%s", cmp.Or(diagnostic.DidYouMean(label, known), "its ports: "+strings.Join(known, ", ")))
	}
	return ports, labels, nil
}

func portLabels(ports []client.Port) (labels []string) {
	for _, p := range ports {
		labels = append(labels, p.Label)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

// completePorts completes TARGET and then the labels of its ports.
func completePorts(a *app, c *lookup.Connection) cobra.CompletionFunc {
	return inTurn(completeTargets(a, c), completeFrom(a, c, func(ctx context.Context, _ []*client.Server, args []string, _ string) []string {
		ports, _, _ := findPorts(ctx, a, args[0], "", *c)
		return portLabels(ports)
	}))
}
