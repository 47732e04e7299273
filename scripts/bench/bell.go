package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// patience limits what should take seconds.
const patience = 2 * time.Minute

// A bell is a named pipe to which tasks write a line. It has a directory of its
// own, which it removes in the end.
type bell struct {
	dir  string
	file *os.File
}

func newBell(dir string) (*bell, error) {
	dir, err := os.MkdirTemp(dir, "bell")
	if err != nil {
		return nil, err
	}
	b := &bell{dir: dir}
	if err := syscall.Mkfifo(b.path(), 0o600); err != nil {
		return nil, fmt.Errorf("cannot make %q: %w", b.path(), err)
	}
	// Opened for both directions, so that it has no end of file.
	b.file, err = os.OpenFile(b.path(), os.O_RDWR, 0)
	return b, err
}

func (b *bell) path() string { return filepath.Join(b.dir, "bell") }

// ring returns the shell command with which a task rings.
func (b *bell) ring() string { return "echo >" + b.path() }

// wait waits until the bell has rung n times, and returns the time.
func (b *bell) wait(n int) (time.Time, error) {
	if err := b.file.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return time.Time{}, err
	}
	_, err := io.ReadFull(b.file, make([]byte, n))
	at := time.Now()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return at, fmt.Errorf("the bell did not ring %d times within %s", n, patience)
	}
	return at, err
}

func (b *bell) close() {
	b.file.Close()
	os.RemoveAll(b.dir)
}
