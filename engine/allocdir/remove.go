package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Remove removes an allocation's directory with all that is in it. It refuses
// one in which something is mounted. A missing one is no error.
func Remove(allocDir string) error {
	r, err := newRemover(filepath.Dir(allocDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.close()
	return errors.Join(removeStaging(allocDir), r.remove(filepath.Base(allocDir)))
}

// RemoveSecrets removes secrets and private of every task of an allocation, and
// what is staged for it.
func RemoveSecrets(allocDir string) error {
	entries, err := os.ReadDir(allocDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	staged := removeStaging(allocDir)
	if err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", allocDir, errors.Join(err, staged))
	}
	r, err := newRemover(allocDir)
	if err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", allocDir, err)
	}
	defer r.close()
	errs := []error{staged}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "alloc" {
			errs = append(errs,
				r.remove(filepath.Join(e.Name(), "secrets")),
				r.remove(filepath.Join(e.Name(), "private")))
		}
	}
	return errors.Join(errs...)
}

// remover removes what is in a directory. It follows no link out of it.
type remover struct {
	root   *os.Root
	mounts []string // what is mounted in root, as paths in it
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
	return &remover{root: root, mounts: mounts}, nil
}

func (r *remover) close() { _ = r.root.Close() }

// remove removes name and all below it, also where a task has taken its user's
// permission to do so.
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
		return fmt.Errorf("cannot remove %q: %w", filepath.Join(r.root.Name(), name), err)
	}
	return nil
}

// checkMounts refuses to remove a mounted file system together with name: what
// is in it is not the run's.
func (r *remover) checkMounts(name string) error {
	for _, mount := range r.mounts {
		if mount == name || strings.HasPrefix(mount, name+"/") {
			return fmt.Errorf("cannot remove %q: a file system is mounted on %q",
				filepath.Join(r.root.Name(), name), filepath.Join(r.root.Name(), mount))
		}
	}
	return nil
}

// allow makes the directories from the parent of name downwards writable. What
// it cannot change the removal will report.
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
