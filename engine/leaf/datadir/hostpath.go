package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/safedir"
)

// maxCopy limits the size of a host file that is copied, in bytes.
const maxCopy = 16 << 20

// HostPathDir returns the path of the replacement for a host path.
func HostPathDir(dataDir, path string) string {
	return filepath.Join(dataDir, "host", filepath.Clean("/"+path))
}

// MakeHostPath creates the replacement for a host path, for tasks of any user,
// and returns its path: an initially empty directory, or a copy of the file. It
// belongs to no run, and remains. A socket or a device has no replacement: the
// path is empty.
func MakeHostPath(dataDir, path string) (string, error) {
	base := filepath.Join(dataDir, "host")
	if err := safedir.MakePrivate(base); err != nil {
		return "", err
	}
	// Containers reach its content by a mount, and nobody else needs access.
	if err := os.Chmod(base, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return "", fmt.Errorf("cannot open directory %q: %w", base, err)
	}
	defer root.Close()
	name := cmp.Or(filepath.Clean("/" + path)[1:], ".")
	if _, err := root.Stat(name); err == nil {
		return HostPathDir(dataDir, path), nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		err = copyInto(root, name, path, info)
	case err == nil && !info.IsDir():
		return "", nil
	default:
		if err = root.MkdirAll(name, 0o755); err == nil {
			err = root.Chmod(name, 0o777) // regardless of the umask
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot make the directory for host path %q: %w", path, err)
	}
	return HostPathDir(dataDir, path), nil
}

func copyInto(root *os.Root, name, path string, info fs.FileInfo) error {
	text, err := readRegular(path)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, text, info.Mode().Perm())
}

// readRegular reads a file that another user may replace at any time.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no longer a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxCopy+1))
	if err == nil && len(text) > maxCopy {
		err = errors.New("the file is too large to copy")
	}
	return text, err
}
