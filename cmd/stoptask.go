package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
)

// namesTask reports whether the argument of stop names tasks, and no job. Only names
// of tasks count: stopping a group because a word happens to be its name, or the
// beginning of an ID, would be a surprise.
func (a *app) namesTask(ctx context.Context, c lookup.Connection, name string) bool {
	servers, err := a.runs.Servers(ctx, c)
	if err != nil {
		return false // stopping a job reports it
	}
	jobs, _ := client.ListJobs(ctx, servers)
	if slices.ContainsFunc(jobs, func(j client.Job) bool { return j.ID == name || j.Name() == name }) {
		return false
	}
	tasks, _ := client.List(ctx, servers, "")
	found, _ := client.Find(tasks, name)
	return slices.ContainsFunc(found, func(t *client.Task) bool { return t.Name == name || strings.HasSuffix(name, "/"+t.Name) })
}

// runStopTask stops tasks, each alone.
func runStopTask(ctx context.Context, a *app, target string, opts orderOptions) error {
	for _, name := range []string{"kill", "purge", "detach", "no-shutdown-delay"} {
		if opts.Flags.Changed(name) {
			return exit.Usage("cannot use --%s: %q is a task, and the flag is for jobs", name, target)
		}
	}
	may := func(t *client.Task) bool { return t.Name != "" && t.State.State != "dead" && !t.Halted() }
	o, err := newOrderFor(ctx, a, []string{target}, opts, may, notStoppable)
	if err != nil {
		return err
	}
	return o.carryOut("stopped", "", func(t *client.Task) error { return t.Stop(ctx) })
}

// notStoppable returns the error of a target whose tasks have ended or were stopped.
func notStoppable(target string, found []*client.Task, labels map[*client.Task]string) error {
	if len(found) == 1 && found[0].Halted() {
		return fmt.Errorf("task %q is stopped already", labels[found[0]])
	}
	return client.NotRunning(target, found, labels)
}

// completeStop completes the jobs and, after them, the tasks that run.
func completeStop(a *app, c *lookup.Connection) cobra.CompletionFunc {
	runs, targets := completeRuns(a, c), completeNames(a, c, runningTasks)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		names, directive := runs(cmd, args, prefix)
		if len(args) > 0 {
			return names, directive
		}
		tasks, directive := targets(cmd, args, prefix)
		for _, name := range tasks {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names, directive
	}
}

// runningTasks returns the labels of running tasks, with their jobs, for completion.
func runningTasks(tasks []*client.Task, _ string) (names []string) {
	for _, t := range tasks {
		if t.Running() {
			names = append(names, t.Job()+"/"+t.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
