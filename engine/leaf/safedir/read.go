package safedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// OpenFile opens a regular file below a directory that others can write to. It does
// not block, and has no effect on anything but regular files.
func OpenFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	irregular := &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	// A device would take notice of being opened.
	if info, err := root.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, nil, irregular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = irregular
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// ReadFile reads a regular file of up to limit bytes below a directory of an
// allocation: a task can put there what it likes.
func ReadFile(root *os.Root, name string, limit int64) ([]byte, error) {
	large := &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d MiB", limit>>20)}
	f, info, err := OpenFile(root, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > limit {
		return nil, large
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = large
	}
	return text, err
}
