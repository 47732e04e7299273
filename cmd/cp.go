package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
)

func newCpCommand(a *app) *cobra.Command {
	opts := orderOptions{mode: ui.Plain}
	cmd := &cobra.Command{
		Use:   "cp TARGET:PATH PATH | PATH TARGET:PATH",
		Short: "Copy files and directories to or from a task",
		Long: `Copy a file or a directory out of a task, or into it. In the task, PATH is what
the task sees; a relative one is in its working directory. A local PATH that has
a colon must begin with / or a dot.

A directory is copied into one that exists, and otherwise gets the new name.
With "/." at the end of the first PATH, its contents are copied. "-" in place
of the local PATH is a tar stream, on stdout or stdin. Permissions, times and
symbolic links are kept; links are not followed. Nothing but whole files appears
at the destination, even if the copy is interrupted.

The task's own "tar" reads and writes, with the rights of the task. If the task
is not running or has no tar, only files in local/ and alloc/ can be read. In a
cluster, that works until Nomad removes the allocation from its node, needs a
token with read-fs, and leaves out symbolic links.

` + lookup.TargetHelp + `

Output:
  plain  one line; with "-", nothing
  json   one object of type "copied"; with "-", nothing
  quiet  nothing

Exit codes:
  0    success
  1    no task matches TARGET, it is not running, or the copy failed
  2    the call is wrong
  125  taskrun itself failed
  129, 130, 143  interrupted by SIGHUP, SIGINT or SIGTERM`,
		Example: `  taskrun cp web:local/app.log .
  taskrun cp assets/. 'app[1]/web:/srv/assets'
  taskrun cp web:local/data - | tar -t`,
		Args:              arguments(2, 2),
		ValidArgsFunction: completeCopy(a, &opts.Connection),
		RunE:              func(cmd *cobra.Command, args []string) error { return runCp(cmd.Context(), a, args[0], args[1], opts) },
	}
	bindOrder(a, cmd, &opts)
	return cmd
}

// splitRemote splits TARGET:PATH. A local path has no target.
func splitRemote(arg string) (target, name string, remote bool) {
	if strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") {
		return "", arg, false
	}
	target, name, remote = strings.Cut(arg, ":")
	if !remote {
		return "", arg, false
	}
	return target, name, true
}

func runCp(ctx context.Context, a *app, from, to string, opts orderOptions) error {
	garbage.CollectRarely()
	source, sourcePath, out := splitRemote(from)
	dest, destPath, in := splitRemote(to)
	switch {
	case out && in:
		return exit.Usage("cannot copy from a task to a task").WithHint("use a pipe: taskrun cp %s - | taskrun cp - %s", from, to)
	case !out && !in:
		return exit.Usage("neither %q nor %q is in a task", from, to).WithHint("write TARGET:PATH, such as web:local/app.log")
	case destPath == "-" && a.Streams.OutTerm:
		return exit.Usage("cannot write a tar stream to a terminal").WithHint("write it to a file or a pipe: taskrun cp %s - | tar -t", from)
	case sourcePath == "" || destPath == "":
		return exit.Usage("the path is missing").WithHint("write TARGET:PATH, such as web:local/app.log")
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	_, all, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return exit.Stopped(ctx, err)
	}
	c := &copying{app: a, opts: opts}
	if out {
		err = c.download(ctx, all, source, sourcePath, destPath)
	} else {
		err = c.upload(ctx, all, sourcePath, dest, destPath)
	}
	switch {
	case ctx.Err() != nil:
		return exit.Stopped(ctx, err)
	case err != nil:
		return err
	}
	for _, name := range slices.Concat(c.unsent.Skipped, c.sum.Skipped) {
		a.Warn(fmt.Errorf("left out %s: it is no file, directory or symbolic link", name))
	}
	if more := c.unsent.More + c.sum.More; more > 0 {
		a.Warn(fmt.Errorf("left out %d more", more))
	}
	if links := c.unsent.Links; len(links) > 0 {
		a.Warn(fmt.Errorf("left out %s: %s does not show where symbolic links lead", client.Listed(links), c.task.Server))
	}
	if sourcePath == "-" || destPath == "-" {
		return nil
	}
	return answer.WriteCopied(a.Answer(opts.mode), answer.Copied{Origin: originOf(c.task), From: from, To: to, Files: c.sum.Files, Bytes: c.sum.Bytes})
}

// completeCopy completes targets, beside local files.
func completeCopy(a *app, c *lookup.Connection) cobra.CompletionFunc {
	targets := completeTargets(a, c)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 1 || strings.ContainsAny(prefix, ":") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names, _ := targets(cmd, args, prefix)
		for i := range names {
			names[i] += ":"
		}
		return names, cobra.ShellCompDirectiveNoSpace
	}
}
