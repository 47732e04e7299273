package cmd

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/lookup"
	"taskrun/cmd/verdict"
)

// A candidates function returns the words that may follow args. The prefix is
// the typed part of the word; results that do not match it do no harm.
type candidates func(ctx context.Context, servers []*client.Server, args []string, prefix string) []string

// completeFrom completes words from the jobs and tasks that a connection
// reaches.
func completeFrom(a *app, c *lookup.Connection, words candidates) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		const only = cobra.ShellCompDirectiveNoFileComp
		if a.configure(cmd) != nil {
			return nil, only
		}
		servers, err := a.runs.Servers(cmd.Context(), *c)
		if err != nil {
			return nil, only
		}
		return startingWith(words(cmd.Context(), servers, args, prefix), prefix), only
	}
}

// inTurn completes the first argument by the first function, the second one by the second,
// and so on. The last function completes all further arguments.
func inTurn(each ...cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return each[min(len(args), len(each)-1)](cmd, args, prefix)
	}
}

// completeNames completes names of tasks, chosen by a function such as client.Targets.
func completeNames(a *app, c *lookup.Connection, names func(tasks []*client.Task, prefix string) []string) cobra.CompletionFunc {
	return completeFrom(a, c, func(ctx context.Context, servers []*client.Server, _ []string, prefix string) []string {
		tasks, _ := client.List(ctx, servers, c.Job)
		return names(tasks, prefix)
	})
}

// completeTargets completes tasks, groups and jobs.
func completeTargets(a *app, c *lookup.Connection) cobra.CompletionFunc {
	return completeNames(a, c, client.Targets)
}

// completeFilters completes the values of --job, --task and --group, where a command has
// them.
func completeFilters(a *app, cmd *cobra.Command, c *lookup.Connection) {
	for flag, names := range map[string]func([]*client.Task, string) []string{"job": client.Jobs, "task": client.TaskNames, "group": client.GroupNames} {
		if cmd.Flags().Lookup(flag) != nil {
			completeFlag(cmd, flag, completeNames(a, c, names))
		}
	}
}

// completeJob completes the only argument of a command with the jobs that
// wanted accepts.
func completeJob(a *app, c *lookup.Connection, wanted func(client.Job) bool) cobra.CompletionFunc {
	return inTurn(completeFrom(a, c, func(ctx context.Context, servers []*client.Server, _ []string, _ string) (names []string) {
		jobs, _ := client.ListJobs(ctx, servers)
		for _, j := range jobs {
			if wanted(j) {
				names = append(names, j.Name())
			}
		}
		return names
	}), cobra.NoFileCompletions)
}

// completeRuns completes the running jobs, or those of a cluster.
func completeRuns(a *app, c *lookup.Connection) cobra.CompletionFunc {
	return completeJob(a, c, func(j client.Job) bool { return j.ParentID == "" })
}

// completeGroups completes a job, then one of its groups.
func completeGroups(a *app, c *lookup.Connection) cobra.CompletionFunc {
	groups := completeFrom(a, c, func(ctx context.Context, servers []*client.Server, args []string, _ string) []string {
		jobs, _ := client.ListJobs(ctx, servers)
		job, err := lookup.FindJob(jobs, args[0])
		if err != nil {
			return nil
		}
		known, _ := job.Groups(ctx)
		return slices.Sorted(maps.Keys(known))
	})
	return inTurn(completeJob(a, c, anyJob), groups, cobra.NoFileCompletions)
}

func anyJob(client.Job) bool { return true }

// completeFromFiles completes the values of a flag from the job files on the command
// line.
func completeFromFiles(a *app, cmd *cobra.Command, flag string, opts jobOptions, names func([]*api.Job) []string) {
	opts.Outline = true // completion reports no errors
	completeFlag(cmd, flag, func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(args, "-") {
			return nil, cobra.ShellCompDirectiveNoFileComp // stdin belongs to the shell
		}
		files, _, _ := a.read(cmd.Context(), args, opts) // a file that cannot be read has no tasks
		return startingWith(names(jobfile.Jobs(files)), prefix), cobra.ShellCompDirectiveNoFileComp
	})
}

func groupNames(jobs []*api.Job) (names []string) {
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			names = append(names, *g.Name)
		}
	}
	return names
}

// codeFromNames returns the shortest unambiguous name of each task.
func codeFromNames(jobs []*api.Job) (names []string) {
	for _, j := range jobs {
		for _, g := range j.TaskGroups {
			for _, t := range g.Tasks {
				for _, name := range []string{t.Name, *g.Name + "/" + t.Name, *j.ID + "/" + *g.Name + "/" + t.Name} {
					if _, err := verdict.FindCodeFrom(name, jobs); err == nil {
						names = append(names, name)
						break
					}
				}
			}
		}
	}
	return names
}
