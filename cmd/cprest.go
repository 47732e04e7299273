package cmd

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"taskrun/cmd/client"
	"taskrun/cmd/tarball"
)

// reader returns a function that writes what is at a path of a task to a tar stream: from
// the task itself if it is running and has a tar, otherwise from its allocation.
func (c *copying) reader(ctx context.Context, all []*client.Task, target, dir, base string) (func(io.Writer) error, error) {
	task, failure := client.Pick(all, target)
	if failure == nil {
		c.task = task
		return func(w io.Writer) error {
			err := task.ReadTar(ctx, w, dir, base)
			if errors.Is(err, client.ErrNoTool) {
				if resting := c.readAtRest(ctx, w, path.Join(dir, base), base); resting == nil {
					return nil
				}
			}
			return err
		}, nil
	}
	task, _, failure = c.app.taskAtRest(ctx, all, target, c.opts.connection, failure)
	if task == nil {
		return nil, targetError(asFailed(failure), all, exitFailed)
	}
	c.task = task
	return func(w io.Writer) error { return c.readAtRest(ctx, w, path.Join(dir, base), base) }, nil
}

// readAtRest writes what is at a path to a tar stream, from the task's allocation.
func (c *copying) readAtRest(ctx context.Context, w io.Writer, name, base string) error {
	within, err := inAllocation(c.task.Name, name)
	if err != nil {
		return err
	}
	var from tarball.Source = c.task.Files(ctx)
	if c.opts.cluster.Address == "" {
		root, err := c.app.openAtRest(ctx, c.task, c.opts.dataDir)
		if err != nil {
			return err
		}
		defer root.Close()
		from = tarball.Root{Root: root}
	}
	to := tar.NewWriter(w)
	c.unsent, err = tarball.Pack(to, from, within, base)
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

// openAtRest opens the directory of a task's allocation on this machine.
func (a *app) openAtRest(ctx context.Context, t *client.Task, dataDir string) (*os.Root, error) {
	runs, err := a.runsOf(ctx, t, dataDir)
	for _, r := range runs {
		root, openErr := os.OpenRoot(filepath.Join(r.Dir, "alloc", t.Alloc.ID))
		if openErr == nil {
			return root, nil
		}
		if !errors.Is(openErr, fs.ErrNotExist) {
			err = openErr
		}
	}
	return nil, cmp.Or(err, errors.New("the directory of its allocation was removed"))
}
