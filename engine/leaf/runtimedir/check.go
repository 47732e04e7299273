package runtimedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Check refuses a directory into which another user could put a file.
func Check(dir string) error { return check(dir, os.Geteuid()) }

func check(dir string, euid int) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return errors.New("it is not a directory")
	case owner(info) != euid:
		return fmt.Errorf("it belongs to another user (uid %d)", owner(info))
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may use it (mode %04o): it must be 0700", info.Mode().Perm())
	}
	return nil
}

// checkParent refuses a directory in which others could rename a directory of
// this user.
func checkParent(dir string, euid int) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case owner(info) != euid && owner(info) != 0:
		return fmt.Errorf("%q belongs to another user (uid %d)", dir, owner(info))
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("others can rename files in %q (mode %04o, without the sticky bit)", dir, info.Mode().Perm())
	}
	return nil
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// OpenFile opens a regular file of this user that no other user can write to.
// It follows no link in the last part of the path, and does not block on a
// pipe. If it creates the file, the file is private to the user.
func OpenFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := CheckFile(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// CheckDir refuses an open directory that another user owns or can write to.
func CheckDir(dir *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errors.New("it is not a directory")
	}
	return checkOwner(&stat)
}

// CheckFile refuses an open file that is not regular, or that another user
// owns, can write to, or has given another name.
func CheckFile(f *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case stat.Nlink != 1:
		return fmt.Errorf("it has %d names", stat.Nlink)
	}
	return checkOwner(&stat)
}

func checkOwner(stat *unix.Stat_t) error {
	switch {
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to another user (uid %d)", stat.Uid)
	case stat.Mode&0o022 != 0:
		return fmt.Errorf("others can write to it (mode %04o)", stat.Mode&0o777)
	}
	return nil
}

// Flock calls flock(2), and repeats it after signals.
func Flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
