package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Files returns a descriptor for each of a process's outputs. They are open
// for reading and writing: when the engine dies the task then blocks, instead
// of being killed, until another engine reads on.
func (l *Log) Files() (stdout, stderr *os.File, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if stdout, err = l.file(l.streams[0]); err != nil {
		return nil, nil, err
	}
	if stderr, err = l.file(l.streams[1]); err != nil {
		return nil, nil, errors.Join(err, stdout.Close())
	}
	return stdout, stderr, nil
}

func (l *Log) file(s *stream) (*os.File, error) {
	if l.closed {
		return nil, fmt.Errorf("cannot open %s of task %q: %w", s.id, l.cfg.Task, os.ErrClosed)
	}
	f, err := l.openWriter(s)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s of task %q: %w", s.id, l.cfg.Task, err)
	}
	l.startReading(s)
	return f, nil
}

func (l *Log) openWriter(s *stream) (*os.File, error) {
	if s.fifo == nil {
		err := unix.Mkfifo(filepath.Join(l.cfg.Dir, s.fifoName), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("cannot make the FIFO %q: %w", s.fifoName, err)
		}
		if s.fifo, err = l.openFIFO(s, unix.O_RDONLY|unix.O_NONBLOCK); err != nil {
			return nil, err
		}
	}
	return l.openFIFO(s, unix.O_RDWR)
}

// Resume reads on from the FIFOs that an engine left when it died, for tasks
// that still run. Where there is none it does nothing.
func (l *Log) Resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if l.closed || s.fifo != nil {
			continue
		}
		f, err := l.openFIFO(s, unix.O_RDONLY|unix.O_NONBLOCK)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot resume %s of task %q: %w", s.id, l.cfg.Task, err)
		}
		s.fifo = f
		l.startReading(s)
	}
	return nil
}

// openFIFO goes around os.OpenFile, which would make the task's end of the
// FIFO non-blocking, and would on macOS not wait for the engine's.
func (l *Log) openFIFO(s *stream, flags int) (*os.File, error) {
	dir, err := l.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Openat(int(dir.Fd()), s.fifoName, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: s.fifoName, Err: err}
	}
	f := os.NewFile(uintptr(fd), filepath.Join(l.cfg.Dir, s.fifoName))
	info, err := f.Stat()
	if err == nil && info.Mode().Type() != fs.ModeNamedPipe {
		err = fmt.Errorf("%q is not a FIFO", s.fifoName)
	}
	if err == nil && s.fifo != nil {
		err = sameFIFO(s.fifo, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sameFIFO guards against a FIFO that was replaced after the engine opened it:
// nobody would read what a task writes there.
func sameFIFO(reader *os.File, writer fs.FileInfo) error {
	info, err := reader.Stat()
	if err == nil && !os.SameFile(info, writer) {
		err = fmt.Errorf("%q was replaced", writer.Name())
	}
	return err
}
