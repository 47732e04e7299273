package safedir

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/runtimedir"
)

// LetIn gives a user permissions on a directory in addition to its mode, and keeps
// permissions that the user already has. mode is the mode of the directory, to
// which it may add the sticky bit. The error is errors.ErrUnsupported if the file
// system has no ACLs.
func LetIn(root *os.Root, name string, mode fs.FileMode, uid int, perm Perm) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return addUser(f, mode, uid, perm)
}

func addUser(f *os.File, mode fs.FileMode, uid int, perm Perm) error {
	if err := runtimedir.Flock(f, unix.LOCK_EX); err != nil { // another program may be adding a user
		return err
	}
	list, err := readACL(f)
	if err != nil || list.perm(uint32(uid))&perm == perm {
		return err
	}
	if mode&fs.ModeSticky != 0 {
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	return writeACL(f, list.with(uint32(uid), perm))
}

// IsLetIn reports whether a user has permissions on a directory in addition to
// its mode.
func IsLetIn(dir *os.Root, uid int, perm Perm) (bool, error) {
	f, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer f.Close()
	list, err := readACL(f)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return list.perm(uint32(uid))&perm == perm, err
}
