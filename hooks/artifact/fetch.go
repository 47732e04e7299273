package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taskrun/engine/allocdir"
	source "taskrun/jobspec/artifact"
)

// fetch carries out an order: it downloads into a directory of its own in the
// task's private one, unpacks, looks for links that lead out, and moves the
// result to its place. Nothing of a download that fails gets there.
func (h *hook) fetch(ctx context.Context, o *order, m *meter) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.cfg.deadline(), fmt.Errorf("it took longer than %v", h.cfg.deadline()))
	defer cancel()
	stage, err := os.MkdirTemp(allocdir.TaskOf(h.task.AllocDir, h.task.Task.Name).Private, "artifact-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(stage) }()
	got := filepath.Join(stage, "got")
	isDir, err := h.download(ctx, o, stage, got, m)
	if err != nil {
		return err
	}
	if isDir && o.mode == "file" && o.kind != source.Git {
		return errors.New(`it is a directory, and the mode is "file"`)
	}
	tree, err := os.OpenRoot(stage)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	name := "got"
	if o.subdir != "" {
		if name, err = find(tree, o.subdir); err != nil {
			return err
		}
	}
	if err := inspect(tree, name); err != nil {
		return err
	}
	h.moving.Lock()
	defer h.moving.Unlock()
	return h.deliver(o, filepath.Join(stage, name), isDir)
}

// download gets an artifact and unpacks it, to a path that does not exist yet.
func (h *hook) download(ctx context.Context, o *order, stage, got string, m *meter) (isDir bool, err error) {
	if o.kind == source.Git {
		return h.downloadGit(ctx, o, stage, got)
	}
	file := got
	if o.archive != "" {
		file = filepath.Join(stage, "packed")
	}
	if o.kind == source.HTTP {
		err = o.getHTTP(ctx, h.cfg, file, m)
	} else {
		var path string
		if path, isDir, err = o.local(); err == nil && isDir {
			return true, os.CopyFS(got, os.DirFS(path))
		}
		if err == nil && o.mode == "dir" && o.archive == "" {
			err = errors.New(`it is a file, and the mode is "dir"`)
		}
		if err == nil {
			err = copyFile(ctx, path, file, m)
		}
	}
	if err == nil && o.checksum != "" {
		err = verify(file, o.checksum)
	}
	if err != nil || o.archive == "" {
		return false, err
	}
	isDir = o.mode != "file"
	return isDir, unpack(ctx, h.cfg, o.archive, file, got, isDir)
}

// downloadGit clones a repository. In mode file the last step of the path is a
// file in it.
func (h *hook) downloadGit(ctx context.Context, o *order, stage, got string) (isDir bool, err error) {
	if o.mode != "file" {
		return true, o.getGit(ctx, h.cfg, got, stage)
	}
	name := filepath.Base(o.url.Path)
	o.url.Path, o.url.RawPath = filepath.Dir(o.url.Path), ""
	if err := o.getGit(ctx, h.cfg, filepath.Join(stage, "repository"), stage); err != nil {
		return false, err
	}
	root, err := os.OpenRoot(stage)
	if err != nil {
		return false, err
	}
	defer func() { _ = root.Close() }()
	from := filepath.Join("repository", name)
	if info, err := root.Lstat(from); err != nil || !info.Mode().IsRegular() {
		return false, fmt.Errorf("there is no file %q in the repository", name)
	}
	return false, root.Rename(from, "got")
}

// find returns the one directory in what was downloaded that a pattern names.
func find(stage *os.Root, pattern string) (string, error) {
	pattern = filepath.Join("got", pattern)
	found, err := fs.Glob(stage.FS(), pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d directories are called %q in what was downloaded, not one", len(found), pattern[len("got/"):])
	}
	if info, err := stage.Lstat(found[0]); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q is no directory in what was downloaded", found[0][len("got/"):])
	}
	return found[0], nil
}

// inspect refuses links that lead out of what was downloaded, and what is
// neither file, directory nor link.
func inspect(stage *os.Root, name string) error {
	tree := stage
	if info, err := stage.Lstat(name); err != nil {
		return err
	} else if info.IsDir() {
		if tree, err = stage.OpenRoot(name); err != nil {
			return err
		}
		defer func() { _ = tree.Close() }()
		name = "."
	}
	return fs.WalkDir(tree.FS(), name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			if leadsOut(tree, path) {
				return fmt.Errorf("artifact includes symlink that resolves outside of sandbox: %s", path)
			}
		case !e.IsDir() && !e.Type().IsRegular():
			return fmt.Errorf("artifact includes %s, which is neither file nor directory", path)
		}
		return nil
	})
}

// leadsOut reports whether a link leads out of root, or would if what it leads
// through were there.
func leadsOut(root *os.Root, link string) bool {
	target, err := root.Readlink(link)
	if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(link), target)) {
		return true
	}
	_, err = root.Stat(link)
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}
