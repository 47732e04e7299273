package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveSecrets removes secrets and private of every task of an allocation.
func RemoveSecrets(allocDir string) error {
	root, err := os.OpenRoot(allocDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", allocDir, err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	errs := []error{err}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "alloc" {
			errs = append(errs,
				removeAll(root, filepath.Join(e.Name(), "secrets")),
				removeAll(root, filepath.Join(e.Name(), "private")))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot remove the secrets in %q: %w", allocDir, err)
	}
	return nil
}

// removeAll removes name and all below it, also where a task has taken its
// user's permission to do so.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if errors.Is(err, fs.ErrPermission) {
		allowRemoval(root, name)
		err = root.RemoveAll(name)
	}
	return err
}

// allowRemoval makes the directories from the parent of name downwards
// writable. What it cannot change the removal will report.
func allowRemoval(root *os.Root, name string) {
	allowWrite(root, filepath.Dir(name))
	_ = fs.WalkDir(root.FS(), name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			allowWrite(root, path)
		}
		return nil
	})
}

func allowWrite(root *os.Root, dir string) {
	if info, err := root.Lstat(dir); err == nil && info.IsDir() {
		_ = root.Chmod(dir, info.Mode()|0o700)
	}
}
