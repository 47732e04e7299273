package cmd

import (
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/verdict"
)

// completeTargets lets shells complete the tasks, groups and jobs that there
// are.
func completeTargets(a *app, c *connection) cobra.CompletionFunc {
	return completeFrom(a, c, client.Targets)
}

// completeJobs lets shells complete the values of --job.
func completeJobs(a *app, cmd *cobra.Command, c *connection) {
	completeFlag(cmd, "job", completeFrom(a, c, client.Jobs))
}

// completeTasks lets them complete those of --task.
func completeTasks(a *app, cmd *cobra.Command, c *connection) {
	completeFlag(cmd, "task", completeFrom(a, c, client.TaskNames))
}

// completeCodeFrom lets them complete those of --exit-code-from, by the job
// files of the command line.
func completeCodeFrom(a *app, cmd *cobra.Command, opts jobOptions) {
	opts.Outline = true // what is wrong with them is not said now
	completeFlag(cmd, "exit-code-from", func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if slices.Contains(args, "-") {
			return nil, cobra.ShellCompDirectiveNoFileComp // stdin is the shell's
		}
		files, _, _ := a.read(cmd.Context(), args, opts) // none has no tasks
		return startingWith(codeFromNames(jobfile.Jobs(files)), prefix), cobra.ShellCompDirectiveNoFileComp
	})
}

// codeFromNames are the names by which tasks of jobs can be told apart.
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

func completeFrom(a *app, c *connection, names func(tasks []*client.Task, prefix string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		const only = cobra.ShellCompDirectiveNoFileComp
		if a.configure(cmd) != nil {
			return nil, only
		}
		servers, err := a.servers(cmd.Context(), *c)
		if err != nil {
			return nil, only
		}
		tasks, _ := client.List(cmd.Context(), servers, c.job)
		return names(tasks, prefix), only
	}
}

// completeRuns completes the jobs that run, or those of a cluster.
func completeRuns(a *app, c *connection) cobra.CompletionFunc {
	return completeJobsThat(a, c, func(j client.Job) bool { return j.ParentID == "" })
}

// completeJobsThat completes jobs of which wanted is true.
func completeJobsThat(a *app, c *connection, wanted func(client.Job) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) (names []string, only cobra.ShellCompDirective) {
		only = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 || a.configure(cmd) != nil {
			return nil, only
		}
		servers, err := a.servers(cmd.Context(), *c)
		if err != nil {
			return nil, only
		}
		jobs, _ := client.ListJobs(cmd.Context(), servers)
		for _, j := range jobs {
			if wanted(j) && strings.HasPrefix(j.ID, prefix) {
				names = append(names, j.ID)
			}
		}
		return names, only
	}
}
