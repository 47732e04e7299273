package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// makePrivate makes a directory and those above it for the user alone. Root's
// can be passed through by others: a task may run as another user.
func makePrivate(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := makeAll(dir, mode); err != nil {
		return fmt.Errorf("cannot make directory %q: %w", dir, err)
	}
	return nil
}

func makeAll(dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		if err := makeAll(filepath.Dir(dir), mode); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if err == nil {
		return os.Chmod(dir, mode) // despite the umask
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if info.IsDir() {
			return nil
		}
		return fmt.Errorf("%q is in the way: it is no directory", dir)
	}
	return err
}
