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

// place is a file or directory of an allocation, held by the descriptor of the
// directory that it is in. What a task puts in the place of a directory on the
// way to it changes nothing any more.
type place struct {
	parent *os.Root
	base   string      // in parent
	name   string      // in the allocation's directory
	info   fs.FileInfo // when it was found; no symbolic link
}

// errReplaced is what is wrong with a name that means something else by now.
var errReplaced = errors.New("it was replaced meanwhile")

// secret reports whether the place is among the secrets of a task.
func (p *place) secret() bool {
	names := strings.Split(p.name, "/")
	return len(names) > 1 && (strings.EqualFold(names[1], "secrets") || strings.EqualFold(names[1], "private"))
}

// openFile opens the place. A pipe in its place is not waited for.
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

// open opens a regular file. Anything else is not opened: a pipe's reader
// would take what is not meant for it.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	if !p.info.Mode().IsRegular() {
		return nil, nil, rest.Fail(http.StatusBadRequest, "%s is no regular file", p.name)
	}
	return p.openFile()
}

// Close lets go of the place.
func (p *place) Close() error { return p.parent.Close() }

// fileError answers with what is wrong with a file, by its name in the
// allocation's directory.
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
