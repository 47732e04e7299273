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
	"strings"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/tarball"
	"taskrun/cmd/verdict"
)

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
		err = read(c.app.Streams.Out)
	} else {
		err = c.unpack(read, base, to)
	}
	if err != nil {
		return exit.Failed("cannot copy %q: %w", target+":"+name, err)
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
		if resting, _, failure := c.app.runs.TaskAtRest(ctx, all, target, c.opts.Connection, err); resting != nil {
			return exit.Failed("%w", failure).WithHint("only a running task can receive files")
		}
		return lookup.TargetError(lookup.AsFailed(err), all, verdict.Failed)
	}
	c.task = task
	if err := c.put(ctx, from, name); err != nil {
		wrong := exit.Failed("cannot copy to %q: %w", target+":"+name, err)
		if errors.Is(err, client.ErrNoTool) {
			return wrong.WithHint("the programs of the task itself receive the files")
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
		return c.task.WriteTar(ctx, c.app.Streams.In, name)
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
	task, _, failure = c.app.runs.TaskAtRest(ctx, all, target, c.opts.Connection, failure)
	if task == nil {
		return nil, lookup.TargetError(lookup.AsFailed(failure), all, verdict.Failed)
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
	if c.opts.Cluster.Address == "" {
		root, err := c.app.runs.OpenAtRest(ctx, c.task, c.opts.DataDir)
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
