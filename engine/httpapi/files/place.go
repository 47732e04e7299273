package files

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"

	"taskrun/engine/httpapi/rest"
)

var errEscapes = rest.Fail(http.StatusBadRequest, "Path escapes the alloc directory")

// place is a file or directory of an allocation, in an open parent directory. A
// task that later replaces a directory on the way to it has no effect.
type place struct {
	parent *os.Root
	base   string      // in parent
	name   string      // relative to the allocation directory
	info   fs.FileInfo // when it was found; never a symbolic link
}

// errReplaced is the error of a name that refers to another file by now.
var errReplaced = errors.New("it was replaced meanwhile")

// secret reports whether the place is in a task's secrets directory.
func (p *place) secret() bool {
	names := strings.Split(p.name, "/")
	return len(names) > 1 && (strings.EqualFold(names[1], "secrets") || strings.EqualFold(names[1], "private"))
}

// openFile opens the place. It does not block on a pipe.
func (p *place) openFile() (*os.File, fs.FileInfo, error) {
	f, err := p.parent.OpenFile(p.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fileError("open", p.name, err)
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, p.info) {
		err = errReplaced
	}
	if err != nil {
		return nil, nil, errors.Join(fileError("open", p.name, err), f.Close())
	}
	return f, info, nil
}

// open opens a regular file. It refuses anything else: reading from a pipe
// would take data from its real reader.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	if !p.info.Mode().IsRegular() {
		return nil, nil, rest.Fail(http.StatusBadRequest, "%s is not a regular file", p.name)
	}
	return p.openFile()
}

// Close closes the parent directory.
func (p *place) Close() error { return p.parent.Close() }

// fileError returns the error of a file, with its name relative to the
// allocation directory.
func fileError(op, name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = http.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		code = http.StatusForbidden
	case errors.Is(err, errReplaced):
		code = http.StatusConflict
	}
	return rest.Fail(code, "%s %s: %v", op, name, err)
}
