package allocdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxCopy is the largest file that is copied in place of one of the machine.
const maxCopy = 16 << 20

// HostPathDir is what takes the place of a path of this machine.
func HostPathDir(dataDir, path string) string {
	return filepath.Join(dataDir, "host", filepath.Clean("/"+path))
}

// MakeHostPath makes what takes the place of a path of this machine, for tasks
// of any user, and returns it: a directory that is empty at first, or a copy of
// the file. It belongs to no run, and stays. For a socket or a device nothing
// takes its place: the path is empty.
func MakeHostPath(dataDir, path string) (string, error) {
	base := filepath.Join(dataDir, "host")
	if err := makePrivate(base); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return "", fmt.Errorf("cannot open directory %q: %w", base, err)
	}
	defer root.Close()
	name := filepath.Clean("/" + path)[1:]
	if name == "" {
		name = "."
	}
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
			err = root.Chmod(name, 0o777) // whatever the umask
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot make what takes the place of %q: %w", path, err)
	}
	return HostPathDir(dataDir, path), nil
}

func copyInto(root *os.Root, name, path string, info fs.FileInfo) error {
	if info.Size() > maxCopy {
		return errors.New("the file is too large to be copied")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return root.WriteFile(name, text, info.Mode().Perm())
}
