package cmd

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskrun/cmd/client"
	"taskrun/cmd/tarball"
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

The task's own "tar" reads and writes, with the rights of the task. Of a task
that is not running, or has no tar, the files in local/ and alloc/ can be read.
In a cluster, that works until Nomad removes the allocation from its node, needs
a token with read-fs, and leaves out symbolic links.

` + targetHelp + `

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
		ValidArgsFunction: completeCopy(a, &opts.connection),
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
	collectRarely()
	source, sourcePath, out := splitRemote(from)
	dest, destPath, in := splitRemote(to)
	switch {
	case out && in:
		return usageError("cannot copy from a task to a task").withHint("use a pipe: taskrun cp %s - | taskrun cp - %s", from, to)
	case !out && !in:
		return usageError("neither %q nor %q is in a task", from, to).withHint("write TARGET:PATH, such as web:local/app.log")
	case destPath == "-" && a.streams.OutTerm:
		return usageError("cannot write a tar stream to a terminal").withHint("write it to a file or a pipe: taskrun cp %s - | tar -t", from)
	case sourcePath == "" || destPath == "":
		return usageError("the path is missing").withHint("write TARGET:PATH, such as web:local/app.log")
	}
	ctx, stop := a.stoppable(ctx)
	defer stop()
	_, all, err := a.tasks(ctx, opts.connection)
	if err != nil {
		return stopped(ctx, err)
	}
	c := &copying{app: a, opts: opts}
	if out {
		err = c.download(ctx, all, source, sourcePath, destPath)
	} else {
		err = c.upload(ctx, all, sourcePath, dest, destPath)
	}
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, err)
	case err != nil:
		return err
	}
	for _, name := range slices.Concat(c.unsent.Skipped, c.sum.Skipped) {
		a.warn(fmt.Errorf("left out %s: it is no file, directory or symbolic link", name))
	}
	if more := c.unsent.More + c.sum.More; more > 0 {
		a.warn(fmt.Errorf("left out %d more", more))
	}
	if links := c.unsent.Links; len(links) > 0 {
		a.warn(fmt.Errorf("left out %s: %s does not show where symbolic links lead", client.Listed(links), c.task.Server))
	}
	if sourcePath == "-" || destPath == "-" {
		return nil
	}
	return answer.WriteCopied(answerTo(a, opts.mode), answer.Copied{Origin: originOf(c.task), From: from, To: to, Files: c.sum.Files, Bytes: c.sum.Bytes})
}

// copying is a copy to or from a task.
type copying struct {
	app  *app
	opts orderOptions
	task *client.Task
	sum  tarball.Sum // what was copied
	// unsent says what a task at rest has that a stream cannot have. The stream is read, which
	// sets sum, at the same time.
	unsent tarball.Sum
}

// download copies a file or directory of a task to a local path.
func (c *copying) download(ctx context.Context, all []*client.Task, target, name, to string) error {
	dir, base := path.Split(path.Clean(name))
	if strings.HasSuffix(name, "/.") || base == "" || base == "." || base == ".." {
		dir, base = path.Clean(name), "."
	}
	read, err := c.reader(ctx, all, target, path.Clean(dir), base)
	if err != nil {
		return err
	}
	if to == "-" {
		err = read(c.app.streams.Out)
	} else {
		err = c.unpack(read, base, to)
	}
	if err != nil {
		return failed("cannot copy %q: %w", target+":"+name, err)
	}
	return nil
}

// unpack unpacks what read writes. An error of read explains one of the stream.
func (c *copying) unpack(read func(io.Writer) error, base, to string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := read(w)
		w.CloseWithError(err)
		done <- err
	}()
	sum, err := tarball.Unpack(r, base, to)
	c.sum = sum
	if err == nil {
		_, err = io.Copy(io.Discard, r) // the padding at its end
	}
	r.CloseWithError(err)
	if readErr := <-done; readErr != nil && (err == nil || errors.Is(err, readErr) || errors.Is(err, io.ErrUnexpectedEOF)) {
		return readErr
	}
	return err
}

// upload copies a local file or directory to a task.
func (c *copying) upload(ctx context.Context, all []*client.Task, from, target, name string) error {
	task, err := client.Pick(all, target)
	if err != nil {
		if resting, _, failure := c.app.taskAtRest(ctx, all, target, c.opts.connection, err); resting != nil {
			return failed("%w", failure).withHint("only a running task can receive files")
		}
		return targetError(asFailed(err), all, exitFailed)
	}
	c.task = task
	if err := c.put(ctx, from, name); err != nil {
		wrong := failed("cannot copy to %q: %w", target+":"+name, err)
		if errors.Is(err, client.ErrNoTool) {
			return wrong.withHint("the programs of the task itself receive the files")
		}
		return wrong
	}
	return nil
}

func (c *copying) put(ctx context.Context, from, name string) error {
	place, err := c.task.Look(ctx, name)
	if err != nil {
		return err
	}
	if from == "-" {
		if place != client.Directory {
			return errors.New("a tar stream can be unpacked only in a directory that exists")
		}
		return c.task.WriteTar(ctx, c.app.streams.In, name)
	}
	info, err := os.Lstat(from)
	if err == nil && strings.HasSuffix(from, "/") || err == nil && strings.HasSuffix(from, "/.") {
		info, err = os.Stat(from)
	}
	if err != nil {
		return err
	}
	contents := strings.HasSuffix(from, "/.") || from == "." || from == ".."
	switch {
	case place == client.Nowhere:
		return errors.New("there is no directory to copy it into")
	case place == client.File && info.IsDir():
		return errors.New("it is a file, and cannot become a directory")
	case place == client.Nothing && strings.HasSuffix(name, "/") && !info.IsDir():
		return errors.New("there is no such directory")
	case place == client.Directory && !contents:
		full, err := filepath.Abs(from)
		if err != nil {
			return err
		}
		name = path.Join(name, filepath.Base(full))
		if place, err = c.task.Look(ctx, name); err != nil {
			return err
		}
		if place == client.Directory && !info.IsDir() {
			return fmt.Errorf("there is a directory %s", name)
		}
	}
	return c.send(ctx, from, name, place == client.Directory)
}

// send packs a local file or directory, and unpacks it in the task.
func (c *copying) send(ctx context.Context, from, name string, merge bool) error {
	full, err := filepath.Abs(from)
	if err != nil {
		return err
	}
	dir, base := filepath.Split(full)
	if strings.HasSuffix(from, "/") || strings.HasSuffix(from, "/.") { // a link is followed
		dir, base = full, "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		to := tar.NewWriter(w)
		sum, err := tarball.Pack(to, tarball.Root{Root: root}, base, client.PutContent)
		if err == nil {
			err = to.WriteHeader(&tar.Header{Name: client.PutEnd, Mode: 0o600, ModTime: time.Now()})
		}
		if err == nil {
			err = to.Close()
		}
		c.sum = sum
		w.CloseWithError(err)
		packed <- err
	}()
	err = c.task.Put(ctx, r, name, ".taskrun-"+rand.Text(), merge)
	r.CloseWithError(context.Canceled)
	if packErr := <-packed; packErr != nil && !errors.Is(packErr, context.Canceled) {
		return packErr
	}
	return err
}

// completeCopy completes targets, beside local files.
func completeCopy(a *app, c *connection) cobra.CompletionFunc {
	targets := completeFrom(a, c, tasksBy(c, client.Targets))
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
