// Package logfile writes a log to files of limited size: when one is full, it gets
// a number, and the oldest one goes.
package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
)

// File is a log. Its methods are safe for concurrent use.
type File struct {
	path string
	size int64 // limit
	old  int   // how many full files are kept: path.1, the newest, to path.<old>

	mu      sync.Mutex
	file    *os.File
	written int64
}

// Open opens the log at a path, which only the user can read, and continues it.
func Open(path string, size int64, old int) (*File, error) {
	f := &File{path: path, size: size, old: old}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.written = file, info.Size()
	return nil
}

// Write writes whole lines. They are never split between two files.
func (f *File) Write(lines []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.written > 0 && f.written+int64(len(lines)) > f.size {
		if err := f.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(lines)
	f.written += int64(n)
	return n, err
}

// rotate gives the files the next numbers and begins a new one. If a file cannot be
// renamed, the log continues in the current one.
func (f *File) rotate() error {
	for n := f.old; n > 0; n-- {
		from := f.path
		if n > 1 {
			from += "." + strconv.Itoa(n-1)
		}
		if err := os.Rename(from, f.path+"."+strconv.Itoa(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if f.old == 0 {
		if err := os.Remove(f.path); err != nil {
			return nil
		}
	}
	full := f.file
	if err := f.open(); err != nil {
		return err
	}
	return full.Close()
}

// Close closes the log.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}
