package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
)

func newStatsCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "stats [TARGET...]",
		Short: "Show the CPU and memory that tasks use",
		Long: `Show the resources that running tasks use now, each including the processes that
it has started: CPU in percent of one core and in MHz, and memory.

` + lookup.TargetHelp + `

Output:
  plain  a table
  json   one object of type "stats" a line for each task

Exit codes:
  0    success, even if nothing is running
  1    no task matches TARGET
  2    the call is wrong
  125  taskrun itself failed, or the run refused`,
		Example: `  taskrun stats
  taskrun stats --output json web | jq .memory_bytes`,
		ValidArgsFunction: completeTargets(a, &opts.Connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runStats(cmd.Context(), a, args, opts) },
	}
	bindOrder(a, cmd, &opts)
	return cmd
}

func runStats(ctx context.Context, a *app, targets []string, opts orderOptions) error {
	_, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return err
	}
	selected, err := client.Select(all, targets)
	if err != nil {
		return lookup.TargetError(err, all, verdict.Failed)
	}
	tasks := slices.DeleteFunc(selected.Of(all), func(t *client.Task) bool { return !t.Running() })
	if len(tasks) == 0 && opts.mode == ui.Plain {
		fmt.Fprintln(a.Streams.Err, "no task runs")
		return nil
	}
	used, failures := client.Stats(ctx, tasks)
	if len(used) == 0 && len(failures) > 0 {
		return failures[0]
	}
	for _, f := range failures {
		a.Warn(f)
	}
	labels := client.Labels(all)
	var list []answer.Usage
	for _, t := range tasks {
		if u := used[t]; u != nil {
			list = append(list, usageOf(t, labels[t], u.ResourceUsage))
		}
	}
	return answer.WriteUsage(a.Answer(opts.mode), list)
}

func usageOf(t *client.Task, label string, used *api.ResourceUsage) answer.Usage {
	u := answer.Usage{Origin: originOf(t), Label: label, Memory: client.MemoryOf(used)}
	if cpu := used.CpuStats; cpu != nil {
		u.CPUPercent, u.CPUMHz = cpu.Percent, cpu.TotalTicks
	}
	return u
}
