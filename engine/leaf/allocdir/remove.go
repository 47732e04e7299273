package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Remove removes an allocation's directory with all that is in it, and what is kept
// beside it. It refuses one in which something is mounted. A missing one is no error.
func Remove(allocDir string) error {
	times := os.RemoveAll(TimesOf(allocDir))
	if times != nil {
		times = fmt.Errorf("cannot remove the times of the output: %w", times)
	}
	return errors.Join(removeStaging(allocDir), times, removeIn(filepath.Dir(allocDir), filepath.Base(allocDir)))
}

// removeIn removes names in a directory with everything below them. A missing
// directory, like a missing name, is no error.
func removeIn(dir string, names ...string) error {
	r, err := newRemover(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove what is in %q: %w", dir, err)
	}
	defer r.close()
	var errs []error
	for _, name := range names {
		errs = append(errs, r.remove(name))
	}
	return errors.Join(errs...)
}

// RemoveSecrets removes secrets and private of every task in the allocation,
// and its staging directory.
func (d *Dir) RemoveSecrets() error {
	alloc, err := d.Alloc()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{removeStaging(d.path)}
	var entries []fs.DirEntry
	var mounts []string
	if err == nil {
		entries, err = fs.ReadDir(alloc.FS(), ".")
	}
	if err == nil {
		mounts, err = mountsIn(d.path)
	}
	if err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", d.path, errors.Join(append(errs, err)...))
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() == sharedEntry.name {
			continue
		}
		task, err := d.Task(e.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := remover{root: task, dir: filepath.Join(d.path, e.Name()), mounts: mountsBelow(mounts, e.Name())}
		errs = append(errs, r.remove("secrets"), r.remove("private"))
	}
	return errors.Join(errs...)
}

// remover removes the content of a directory. It follows no link out of it.
type remover struct {
	root   *os.Root
	dir    string   // its path, for messages
	mounts []string // mount points in root, as relative paths
}

func newRemover(dir string) (*remover, error) {
	mounts, err := mountsIn(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &remover{root: root, dir: dir, mounts: mounts}, nil
}

func (r *remover) close() { _ = r.root.Close() }

// remove removes name and everything below it, even if a task has removed its
// user's permission.
func (r *remover) remove(name string) error {
	if err := r.checkMounts(name); err != nil {
		return err
	}
	err := r.root.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		r.allow(name)
		err = r.root.RemoveAll(name)
	}
	if err != nil {
		return fmt.Errorf("cannot remove %q: %w", filepath.Join(r.dir, name), err)
	}
	return nil
}

// checkMounts refuses to remove name if a file system is mounted there: its
// content does not belong to the run.
func (r *remover) checkMounts(name string) error {
	for _, mount := range r.mounts {
		if mount == name || strings.HasPrefix(mount, name+"/") {
			return fmt.Errorf("cannot remove %q: a file system is mounted on %q",
				filepath.Join(r.dir, name), filepath.Join(r.dir, mount))
		}
	}
	return nil
}

// allow makes the directories from the parent of name downwards writable. The
// removal reports errors.
func (r *remover) allow(name string) {
	r.allowDir(filepath.Dir(name))
	_ = fs.WalkDir(r.root.FS(), name, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			r.allowDir(path)
		}
		return nil
	})
}

func (r *remover) allowDir(dir string) {
	if info, err := r.root.Lstat(dir); err == nil && info.IsDir() {
		_ = r.root.Chmod(dir, info.Mode()|0o700)
	}
}

// removing is the prefix of the name of a run that is being removed.
const removing = ".removing-"

// removeRun removes a run. It first renames the run, so that a removal that fails
// halfway leaves none.
func (r *remover) removeRun(id string) error {
	if err := r.checkMounts(id); err != nil {
		return err
	}
	if err := r.root.Rename(id, removing+id); err != nil {
		return fmt.Errorf("cannot remove run %q: %w", id, err)
	}
	return r.remove(removing + id)
}
