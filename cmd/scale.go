package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/exit"
	"taskrun/cmd/ui"
)

func newScaleCommand(a *app) *cobra.Command {
	opts := changeOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "scale JOB [GROUP] COUNT",
		Short: "Change how many allocations a group has",
		Long: `Change the count of a group of a running job, within the limits of its scaling
block, and wait until the new allocations are healthy. GROUP may be left out
when the job has one group.` + fmt.Sprintf(changeHelp, "scaled"),
		Example: `  taskrun scale web 3
  taskrun scale shop workers 0`,
		Args:              arguments(2, 3),
		ValidArgsFunction: completeGroups(a, &opts.Connection),
		RunE: func(cmd *cobra.Command, args []string) error {
			group := ""
			if len(args) == 3 {
				group = args[1]
			}
			return runScale(cmd.Context(), a, args[0], group, args[len(args)-1], opts)
		},
	}
	bindChange(cmd, &opts)
	return cmd
}

func runScale(ctx context.Context, a *app, id, group, text string, opts changeOptions) error {
	count, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return exit.Usage("cannot scale to %q: it is not a count", text)
	}
	job, err := a.runs.RunningJob(ctx, opts.Connection, id)
	if err != nil {
		return err
	}
	if job.Stop { // a cluster would only note the count
		return exit.Failed("cannot scale job %q: it is stopped", job.Name())
	}
	groups, err := job.Groups(ctx)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(groups))
	switch _, known := groups[group]; {
	case group == "" && len(names) == 1:
		group = names[0]
	case group == "":
		return exit.Usage("job %q has several groups: name one", job.Name()).WithHint("groups are: %s", strings.Join(names, ", "))
	case !known:
		return noGroup(job, group, names)
	}
	evaluation, err := job.Scale(ctx, group, int(count))
	if err != nil {
		return err
	}
	return followChange(ctx, a, &cluster.Rollout{Job: job, Evaluation: evaluation}, "scaled", opts.mode, opts.detach)
}

// noGroup is the error of a group that a job does not have.
func noGroup(job *client.Job, group string, names []string) error {
	return exit.Usage("job %q has no group %q", job.Name(), group).WithHint("groups are: %s", strings.Join(names, ", "))
}
