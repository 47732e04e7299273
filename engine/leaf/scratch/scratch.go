// Package scratch makes directories for files that do not outlive a program.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"taskrun/engine/leaf/safedir"
)

// prefix begins the name of every scratch directory.
const prefix = "taskrun-scratch-"

// Make makes an empty directory for files that do not outlive this
// program. Only this user can list it; if that is root, users of tasks can pass.
func Make() (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", fmt.Errorf("cannot make a scratch directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err == nil && os.Geteuid() == 0 {
		err = os.Chmod(dir, 0o711)
	}
	return dir, err
}

// Remove removes a scratch directory with all that is in it, after
// unmounting what is mounted there. A missing one is no error, and nothing but a
// scratch directory is removed.
func Remove(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() || !strings.HasPrefix(filepath.Base(dir), prefix):
		return fmt.Errorf("cannot remove %q: it is no scratch directory", dir)
	}
	mounts, err := safedir.MountsIn(dir)
	errs := []error{err}
	for _, m := range slices.Backward(mounts) { // the inner ones first
		if err := safedir.Unmount(filepath.Join(dir, m)); err != nil {
			errs = append(errs, fmt.Errorf("cannot unmount %q: %w", filepath.Join(dir, m), err))
		}
	}
	return errors.Join(append(errs, safedir.RemoveIn(filepath.Dir(dir), filepath.Base(dir)))...)
}
