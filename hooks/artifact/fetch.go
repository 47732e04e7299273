package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
	"taskrun/hooks/artifact/unpack"
	source "taskrun/jobspec/artifact"
)

// fetcher fetches the artifacts of a task.
type fetcher struct {
	cfg    Config
	task   hooks.Task
	moving sync.Mutex // held while a result is moved
}

// fetch executes an order: it downloads into a directory that only the engine
// can access, unpacks, refuses links that lead out, and moves the result to its
// place. Nothing of a failed download gets there.
func (f *fetcher) fetch(ctx context.Context, o *order, m *meter) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.cfg.deadline(), fmt.Errorf("it took longer than %v", f.cfg.deadline()))
	defer cancel()
	staging, err := allocdir.Staging(f.task.AllocDir)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(staging, "artifact-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	stage, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = stage.Close() }()
	isDir, err := f.download(ctx, o, stage, m)
	if err != nil {
		return err
	}
	if isDir && o.mode == "file" && o.kind != source.Git {
		return errors.New(`it is a directory, and the mode is "file"`)
	}
	name := "got"
	if o.subdir != "" {
		if name, err = find(stage, o.subdir); err != nil {
			return err
		}
	}
	if err := inspect(stage, name); err != nil {
		return err
	}
	f.moving.Lock()
	defer f.moving.Unlock()
	return deliver(f.task, o, stage, name, isDir)
}

// download gets an artifact and unpacks it, to "got" in the stage.
func (f *fetcher) download(ctx context.Context, o *order, stage *os.Root, m *meter) (isDir bool, err error) {
	file := "got"
	if o.archive != "" {
		file = "packed"
	}
	switch o.kind {
	case source.Git:
		return f.downloadGit(ctx, o, stage)
	case source.HTTP:
		err = o.getHTTP(ctx, f.cfg, filepath.Join(stage.Name(), file), m)
	default:
		isDir, err = o.getLocal(ctx, stage, file, m)
	}
	if err == nil && !isDir && o.checksum != "" {
		err = verify(filepath.Join(stage.Name(), file), o.checksum)
	}
	if err != nil || isDir || o.archive == "" {
		return isDir, err
	}
	packed, err := stage.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { _ = packed.Close() }()
	limits := unpack.Limits{Size: f.cfg.UnpackedSize, Entries: f.cfg.UnpackedFiles}
	if o.mode == "file" {
		return false, unpack.File(ctx, o.archive, packed, stage, "got", limits)
	}
	return true, unpack.Dir(ctx, o.archive, packed, stage, "got", limits)
}

// downloadGit clones a repository. In mode file, the last element of the path
// is a file in it.
func (f *fetcher) downloadGit(ctx context.Context, o *order, stage *os.Root) (isDir bool, err error) {
	if o.mode != "file" {
		return true, o.getGit(ctx, f.cfg, stage, "got")
	}
	name := filepath.Base(o.url.Path)
	o.url.Path, o.url.RawPath = filepath.Dir(o.url.Path), ""
	if err := o.getGit(ctx, f.cfg, stage, "repository"); err != nil {
		return false, err
	}
	from := filepath.Join("repository", name)
	if info, err := stage.Lstat(from); err != nil || !info.Mode().IsRegular() {
		return false, fmt.Errorf("there is no file %q in the repository", name)
	}
	return false, stage.Rename(from, "got")
}

// find returns the only directory in a download that matches a pattern.
func find(stage *os.Root, pattern string) (string, error) {
	pattern = filepath.Join("got", pattern)
	found, err := fs.Glob(stage.FS(), pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the download has %d directories named %q, not one", len(found), pattern[len("got/"):])
	}
	if info, err := stage.Lstat(found[0]); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q is not a directory of the download", found[0][len("got/"):])
	}
	return found[0], nil
}

// inspect refuses links that lead out of the download, and special files.
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

// leadsOut reports whether a link leads out of root, or would once its target
// exists.
func leadsOut(root *os.Root, link string) bool {
	target, err := root.Readlink(link)
	if err != nil || filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(link), target)) {
		return true
	}
	_, err = root.Stat(link)
	return err != nil && !errors.Is(err, fs.ErrNotExist)
}
