package allocdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadFile reads a regular file of up to limit bytes below a directory of an
// allocation: a task can put there what it likes.
func ReadFile(root *os.Root, name string, limit int64) ([]byte, error) {
	irregular := &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	large := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", limit>>20)}
	// A device would take notice of being opened.
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, irregular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, irregular
	case info.Size() > limit:
		return nil, large
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = large
	}
	return text, err
}
