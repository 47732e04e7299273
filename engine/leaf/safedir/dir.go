// Package safedir deals with directories in which others may be able to write: other
// users of this machine, and tasks that run as another user. It trusts a path only if
// nobody else can replace it, opens what is there without following a link or waiting
// for a pipe, lets one more user in through an ACL, and removes what a task has closed,
// but nothing on which a file system is mounted.
package safedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Gate is the mode of a directory that is closed to all other users.
const Gate fs.FileMode = 0o700

// IsName reports whether s is a valid file name.
func IsName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

// MakePrivate creates a directory and its parents for the user alone. Those of
// root can be passed through by other users, because a task may run as another
// user.
func MakePrivate(dir string) error {
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
		return os.Chmod(dir, mode) // regardless of the umask
	}
	if info, statErr := os.Stat(dir); statErr == nil {
		if info.IsDir() {
			return nil
		}
		return fmt.Errorf("%q is in the way: it is not a directory", dir)
	}
	return err
}

// Make creates a directory in parent, whose path is for messages, and
// reports whether it was missing. An existing one is left alone.
func Make(parent *os.Root, path, name string, mode fs.FileMode) (made bool, err error) {
	err = parent.Mkdir(name, mode.Perm())
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := parent.Lstat(name); statErr == nil && info.IsDir() {
			return false, nil
		}
		err = errors.New("a file is in the way")
	}
	if err == nil && mode != Gate {
		err = parent.Chmod(name, mode) // regardless of the umask, and for the sticky bit
	}
	if err != nil {
		return false, fmt.Errorf("cannot make directory %q: %w", filepath.Join(path, name), err)
	}
	return true, nil
}

// Open opens a directory in a place where a task may be able to write.
// Because of the trailing dot, the kernel refuses a FIFO instead of waiting for
// its other end. A second look at the place refuses a link.
func Open(parent *os.Root, name string) (*os.Root, fs.FileInfo, error) {
	root, err := parent.OpenRoot(name + "/.")
	if err != nil {
		return nil, nil, err
	}
	opened, err := root.Stat(".")
	if err == nil {
		var there fs.FileInfo
		if there, err = parent.Lstat(name); err == nil && !os.SameFile(opened, there) {
			err = errors.New("something else is in its place")
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return root, opened, nil
}

// UIDOf returns the UID of the owner of a file.
func UIDOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
