//go:build !linux

package safedir

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func readACL(*os.File) (acl, error) { return nil, errors.ErrUnsupported }
func writeACL(*os.File, acl) error  { return errors.ErrUnsupported }

func isUnmapped(int) bool { return false }

func Unmount(path string) error { return unix.Unmount(path, 0) }

// ShortPath returns a path of a file in a directory. Without /proc there is no
// shorter one, so a socket with a long path cannot be created.
func ShortPath(_ *os.File, path, name string) string { return filepath.Join(path, name) }
