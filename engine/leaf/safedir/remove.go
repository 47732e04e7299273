package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// RemoveIn removes names in a directory with everything below them. A missing
// directory, like a missing name, is no error.
func RemoveIn(dir string, names ...string) error {
	r, err := OpenRemover(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove the content of %q: %w", dir, err)
	}
	defer r.Close()
	var errs []error
	for _, name := range names {
		errs = append(errs, r.Remove(name))
	}
	return errors.Join(errs...)
}

// Remover removes the content of a directory. It follows no link out of it, and
// refuses what a file system is mounted on.
type Remover struct {
	root   *os.Root
	dir    string // its path, for messages
	mounts Mounts
}

// OpenRemover opens a directory; Close closes it.
func OpenRemover(dir string) (*Remover, error) {
	mounts, err := MountsIn(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return NewRemover(root, dir, mounts), nil
}

// NewRemover removes from an open directory, whose path is for messages, and in
// which mounts are.
func NewRemover(root *os.Root, dir string, mounts Mounts) *Remover {
	return &Remover{root: root, dir: dir, mounts: mounts}
}

// Close closes the directory.
func (r *Remover) Close() { _ = r.root.Close() }

// Remove removes name and everything below it, even if a task has removed its
// user's permission.
func (r *Remover) Remove(name string) error {
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

// checkMounts returns an error if a file system is mounted at or below name, because
// its content belongs to others.
func (r *Remover) checkMounts(name string) error {
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
func (r *Remover) allow(name string) {
	r.allowDir(filepath.Dir(name))
	_ = fs.WalkDir(r.root.FS(), name, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			r.allowDir(path)
		}
		return nil
	})
}

func (r *Remover) allowDir(dir string) {
	if info, err := r.root.Lstat(dir); err == nil && info.IsDir() {
		_ = r.root.Chmod(dir, info.Mode()|0o700)
	}
}

// RemoveAs renames name before it removes it, so that a removal that fails halfway
// leaves nothing of that name.
func (r *Remover) RemoveAs(temp, name string) error {
	if err := r.checkMounts(name); err != nil {
		return err
	}
	if err := r.root.Rename(name, temp); err != nil {
		return fmt.Errorf("cannot remove %q: %w", filepath.Join(r.dir, name), err)
	}
	return r.Remove(temp)
}
