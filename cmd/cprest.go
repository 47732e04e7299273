package cmd

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"taskrun/cmd/client"
	"taskrun/cmd/record"
	"taskrun/cmd/tarball"
)

// reader returns a function that writes what is at a path of a task to a tar stream: from
// the task itself if it is running and has a tar, otherwise from its directory.
func (c *copying) reader(ctx context.Context, all []*client.Task, target, dir, base string) (func(io.Writer) error, error) {
	task, failure := client.Pick(all, target)
	if failure == nil {
		c.task = task
		return func(w io.Writer) error {
			err := task.ReadTar(ctx, w, dir, base)
			if errors.Is(err, client.ErrNoTool) && task.Server.Socket != "" {
				if resting := c.readAtRest(ctx, w, path.Join(dir, base), base); resting == nil {
					return nil
				}
			}
			return err
		}, nil
	}
	task, _, failure = c.app.taskAtRest(ctx, all, target, c.opts.connection, failure)
	if task == nil || c.opts.cluster.Address != "" {
		return nil, targetError(asFailed(failure), all, exitFailed)
	}
	c.task = task
	return func(w io.Writer) error { return c.readAtRest(ctx, w, path.Join(dir, base), base) }, nil
}

// readAtRest writes what is at a path to a tar stream, from the directory of the task's
// allocation on this machine.
func (c *copying) readAtRest(ctx context.Context, w io.Writer, name, base string) error {
	dir, err := c.app.runDirOf(ctx, c.task, c.opts.dataDir)
	if err != nil {
		return err
	}
	within, err := inAllocation(c.task.Name, name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(dir, "alloc", c.task.Alloc.ID))
	if err != nil {
		return err
	}
	defer root.Close()
	to := tar.NewWriter(w)
	sum, err := tarball.Pack(to, root, within, base)
	c.unsent = sum.Skipped
	if err != nil {
		return err
	}
	return to.Close()
}

// inAllocation returns where a path of a task is in the directory of its allocation.
func inAllocation(task, name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	switch first, _, _ := strings.Cut(clean, "/"); first {
	case "alloc":
		return clean, nil
	case "local":
		return path.Join(task, clean), nil
	}
	return "", fmt.Errorf("while the task is not running, only local/ and alloc/ can be read, and not %s", name)
}

// runDirOf returns the directory of a task's run on this machine.
func (a *app) runDirOf(ctx context.Context, t *client.Task, dataDir string) (string, error) {
	if t.Server.Socket != "" {
		self, err := t.Server.Self(ctx)
		if err != nil {
			return "", err
		}
		return self.Runs[t.JobKey()], nil
	}
	runs, err := a.allRuns(ctx, dataDir, "")
	for _, r := range record.NewestFirst(runs) {
		if r.Job != t.JobKey() {
			continue
		}
		if _, err := os.Stat(filepath.Join(r.Dir, "alloc", t.Alloc.ID)); err == nil {
			return r.Dir, nil
		}
	}
	return "", errors.Join(err, errors.New("the directory of its allocation was removed"))
}
