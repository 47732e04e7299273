package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
)

// changeOptions are those of commands that change a job that runs.
type changeOptions struct {
	connection
	mode   ui.Mode
	detach bool
}

const changeHelp = `

With --address the job is one of a Nomad cluster. NOMAD_* variables are ignored.

Output:
  plain  a line for the change, then one for each step of the deployment
  json   one object of type "%s", then those of type "deployment"
  quiet  nothing

Exit codes:
  0    the deployment, if there is one, was successful
  1    the deployment failed, or no such job is running
  2    the call is wrong
  125  taskrun itself failed, or the run refused the change
  130, 143  SIGINT or SIGTERM ended the wait; the deployment continues`

func bindChange(a *app, cmd *cobra.Command, opts *changeOptions) {
	flags := cmd.Flags()
	opts.bindCluster(flags)
	bindOutput(cmd, &opts.mode, ui.Plain, ui.JSON, ui.Quiet)
	bindNoWait(flags, &opts.detach)
}

func bindNoWait(flags *pflag.FlagSet, detach *bool) {
	flags.BoolVarP(detach, "detach", "d", false, "do not wait for the deployment")
}

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
		Args:              cobra.RangeArgs(2, 3),
		ValidArgsFunction: completeChange(a, &opts.connection, true),
		RunE: func(cmd *cobra.Command, args []string) error {
			group := ""
			if len(args) == 3 {
				group = args[1]
			}
			return runScale(cmd.Context(), a, args[0], group, args[len(args)-1], opts)
		},
	}
	bindChange(a, cmd, &opts)
	return cmd
}

func runScale(ctx context.Context, a *app, id, group, text string, opts changeOptions) error {
	a.jsonErrors = opts.mode == ui.JSON
	count, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return usageError("cannot scale to %q: that is no count", text)
	}
	job, err := runningJob(ctx, a, id, opts.connection)
	if err != nil {
		return err
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
		return usageError("job %q has several groups: say which one", id).withHint("groups are: %s", strings.Join(names, ", "))
	case !known:
		return usageError("job %q has no group %q", id, group).withHint("groups are: %s", strings.Join(names, ", "))
	}
	evaluation, err := job.Scale(ctx, group, int(count))
	if err != nil {
		return err
	}
	return followChange(ctx, a, job, "scaled", client.Begun{Evaluation: evaluation}, opts.mode, opts.detach)
}

// runningJob returns the job of an ID.
func runningJob(ctx context.Context, a *app, id string, c connection) (*client.Job, error) {
	servers, err := a.servers(ctx, c)
	if err != nil {
		return nil, err
	}
	running, err := a.jobs(ctx, servers)
	if err != nil {
		return nil, err
	}
	return findJob(running, id)
}

// completeChange completes jobs and then, if wanted, their groups.
func completeChange(a *app, c *connection, groups bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (found []string, only cobra.ShellCompDirective) {
		only = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 1 || len(args) == 1 && !groups || a.configure(cmd) != nil {
			return nil, only
		}
		servers, err := a.servers(cmd.Context(), *c)
		if err != nil {
			return nil, only
		}
		var names []string
		jobs, _ := client.ListJobs(cmd.Context(), servers)
		if len(args) == 1 {
			if job, err := findJob(jobs, args[0]); err == nil {
				known, _ := job.Groups(cmd.Context())
				names = slices.Sorted(maps.Keys(known))
			}
		} else {
			for _, j := range jobs {
				names = append(names, j.ID)
			}
		}
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		return found, only
	}
}
