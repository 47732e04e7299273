package volumes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// link makes a path in the task's directory (the root of absolute paths) a link
// to a folder. It replaces an existing link of an earlier start or run.
func link(root *os.Root, destination, folder string) error {
	name := filepath.Clean("/" + destination)[1:]
	if name == "" {
		return fmt.Errorf("destination %q is the task's directory itself", destination)
	}
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("destination %q: something else is there", destination)
	case err == nil:
		err = root.Remove(name)
	case errors.Is(err, fs.ErrNotExist):
		err = root.MkdirAll(filepath.Dir(name), 0o777)
	}
	if err == nil {
		err = root.Symlink(folder, name)
	}
	if err != nil {
		return fmt.Errorf("cannot link %q to %q: %w", destination, folder, err)
	}
	return nil
}
