package artifact

import (
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A dir is an open directory. Its methods take the name of an entry, never a
// path, and follow no link: a task with write access to the directory can make
// them fail, but cannot redirect them.
type dir struct{ *os.File }

// openDir opens the directory at a path that only the engine can change.
func openDir(path string) (dir, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	return dir{f}, err
}

func (d dir) fd() int { return int(d.Fd()) }

func (d dir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.Name(), name), Err: err}
}

func (d dir) openAt(name string, flags int, mode fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.Name(), name)), nil
}

func (d dir) sub(name string) (dir, error) {
	f, err := d.openAt(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	return dir{f}, err
}

// kind returns the type of an entry, unix.S_IFDIR and so on.
func (d dir) kind(name string) (uint32, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return uint32(stat.Mode) & unix.S_IFMT, d.fail("lstat", name, err) //nolint:unconvert // it is a uint16 on macOS
}

// rename moves an entry to another directory, replacing a file or an empty
// directory.
func (d dir) rename(name string, to dir, toName string) error {
	return to.fail("rename", toName, unix.Renameat(d.fd(), name, to.fd(), toName))
}

// copyTo copies a file or a link to another directory, possibly on another file
// system, replacing an existing file.
func (d dir) copyTo(name string, to dir, toName string) error {
	temp := ".artifact-" + rand.Text()
	if err := d.copyNew(name, to, temp); err != nil {
		return err
	}
	err := to.rename(temp, to, toName)
	if err != nil {
		_ = unix.Unlinkat(to.fd(), temp, 0)
	}
	return err
}

func (d dir) copyNew(name string, to dir, toName string) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return d.fail("lstat", name, err)
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		target := make([]byte, 4096)
		n, err := unix.Readlinkat(d.fd(), name, target)
		if err == nil {
			err = unix.Symlinkat(string(target[:n]), to.fd(), toName)
		}
		return to.fail("symlink", toName, err)
	}
	in, err := d.openAt(name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := to.openAt(toName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if _, err = io.Copy(out, in); err == nil {
		err = out.Chown(int(stat.Uid), int(stat.Gid))
	}
	if err == nil {
		err = out.Chmod(fs.FileMode(stat.Mode & 0o777))
	}
	if err != nil {
		return fmt.Errorf("cannot copy it to another file system: %w", err)
	}
	return out.Close()
}
