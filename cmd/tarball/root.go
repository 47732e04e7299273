package tarball

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Root is a directory of this machine as a source of files.
type Root struct{ *os.Root }

// ReadDir returns the names in a directory.
func (r Root) ReadDir(name string, seen fs.FileInfo) ([]string, error) {
	dir, err := r.open(name, seen)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// Open opens a file.
func (r Root) Open(name string, seen fs.FileInfo) (io.ReadCloser, error) { return r.open(name, seen) }

// open opens what was looked at before. A pipe in its place blocks nothing.
func (r Root) open(name string, seen fs.FileInfo) (*os.File, error) {
	f, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(now, seen) {
		err = fmt.Errorf("%s was replaced while it was copied", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
