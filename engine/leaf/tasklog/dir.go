package tasklog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// errIrregular says that a name is not that of a regular file which the engine may
// have made, but of a link, a FIFO, a directory, a socket, a device, or a file with
// a lease.
var errIrregular = errors.New("not a regular file")

// dir is the directory of an allocation's logs, where tasks can create any file. It
// is open: a task that replaces the directory does not change which one is used. No
// method follows links, or blocks on a file of a task.
//
// One race remains: if a task replaces a regular file with a device after its name
// was checked, the device is opened and closed again.
type dir struct{ file *os.File }

// dirOf opens a directory once more.
func dirOf(root *os.Root) (dir, error) {
	f, err := root.Open(".")
	return dir{f}, err
}

// openDir opens <allocation>/alloc/logs. It returns an error if a task has replaced
// one of the last two directories with a link.
func openDir(path string) (dir, error) {
	shared, logs := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	top, err := os.Open(filepath.Dir(filepath.Dir(path)))
	if err != nil {
		return dir{}, err
	}
	parent, err := dir{top}.sub(shared)
	if err = errors.Join(err, top.Close()); err != nil {
		return dir{}, err
	}
	d, err := parent.sub(logs)
	return d, errors.Join(err, parent.close())
}

// sub opens a directory in d.
func (d dir) sub(name string) (s dir, err error) {
	err = d.at("open", name, func(at int) error {
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			s.file = os.NewFile(uintptr(fd), name)
		}
		return err
	})
	return s, err
}

func (d dir) close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}

// at calls f with the descriptor of the directory, and repeats that if a signal
// interrupts it.
func (d dir) at(op, name string, f func(fd int) error) error {
	conn, err := d.file.SyscallConn()
	if err != nil {
		return err
	}
	closed := conn.Control(func(fd uintptr) {
		for err = f(int(fd)); errors.Is(err, unix.EINTR); {
			err = f(int(fd))
		}
	})
	if err = errors.Join(closed, err); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

// open opens a regular file, and returns its size.
func (d dir) open(name string, flags int) (f *os.File, size int64, err error) {
	if flags&unix.O_EXCL == 0 { // else it is new
		st, err := d.lstat(name)
		switch {
		case err == nil && !isOwn(st, flags):
			return nil, 0, &fs.PathError{Op: "open", Path: name, Err: errIrregular}
		case errors.Is(err, fs.ErrNotExist) && flags&unix.O_CREAT == 0:
			return nil, 0, err
		}
	}
	err = d.at("open", name, func(at int) error {
		fd, err := unix.Openat(at, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
		switch {
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EISDIR):
			return errIrregular
		case err != nil:
			return err
		}
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && !isOwn(&st, flags) {
			err = errIrregular
		}
		if err == nil {
			err = unix.SetNonblock(fd, false)
		}
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		f, size = os.NewFile(uintptr(fd), name), st.Size
		return nil
	})
	return f, size, err
}

// isOwn reports whether a file is a regular one that flags may open. A file to
// write must belong to the user of the engine and have no second name, which could
// be in any directory.
func isOwn(st *unix.Stat_t, flags int) bool {
	regular := st.Mode&unix.S_IFMT == unix.S_IFREG
	return regular && (flags&unix.O_ACCMODE == unix.O_RDONLY || st.Nlink <= 1 && int(st.Uid) == os.Geteuid())
}

// create makes a file. It removes what a task has put in its place, except a
// directory that is not empty.
func (d dir) create(name string, flags int) (f *os.File, err error) {
	f, _, err = d.open(name, flags|unix.O_CREAT|unix.O_EXCL)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := d.clear(name); err != nil {
		return nil, err
	}
	f, _, err = d.open(name, flags|unix.O_CREAT|unix.O_EXCL)
	return f, err
}

// clear removes a file or an empty directory.
func (d dir) clear(name string) error {
	err := d.remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if st, statErr := d.lstat(name); statErr != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return err
	}
	return d.at("remove", name, func(at int) error { return unix.Unlinkat(at, name, unix.AT_REMOVEDIR) })
}

func (d dir) remove(name string) error {
	return d.at("remove", name, func(at int) error { return unix.Unlinkat(at, name, 0) })
}

func (d dir) lstat(name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	err := d.at("stat", name, func(at int) error { return unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return &st, err
}

// each calls f with the names in the directory.
func (d dir) each(f func(name string)) error {
	again, err := d.sub(".") // it has its own position
	if err != nil {
		return err
	}
	defer again.close()
	for {
		names, err := again.file.Readdirnames(1024)
		for _, name := range names {
			f(name)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the directory of the logs: %w", err)
		}
	}
}
