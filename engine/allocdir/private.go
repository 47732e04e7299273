package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
		return os.Chmod(dir, mode) // whatever the umask
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if info.IsDir() {
			return nil
		}
		return fmt.Errorf("%q is in the way: it is no directory", dir)
	}
	return err
}

// checkOwner refuses a data directory that somebody else made where everybody
// can, such as in /tmp: that user could read and replace what is in it.
func checkOwner(dataDir string) error {
	dir, err := os.Stat(dataDir)
	if err != nil {
		return nil // it does not exist, or makePrivate will say more
	}
	parent, err := os.Stat(filepath.Dir(dataDir))
	if err != nil || parent.Mode()&0o002 == 0 {
		return nil
	}
	owner := int(dir.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("cannot use data directory %q: it belongs to another user (uid %d)", dataDir, owner)
	}
	return nil
}
