package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Files returns a file for each output of a process. They are open for reading and
// writing: if the engine dies, the task blocks until another engine continues to
// read, and is not killed by SIGPIPE.
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
		if err := l.makeFIFO(s.fifoName); err != nil {
			return nil, err
		}
		var err error
		if s.fifo, err = l.openFIFO(s, unix.O_RDONLY); err != nil {
			return nil, err
		}
	}
	return l.openFIFO(s, unix.O_RDWR)
}

// makeFIFO makes a FIFO. It replaces what an earlier engine has left, or a task has
// made.
func (l *Log) makeFIFO(name string) error {
	err := l.dir.mkfifo(name)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := l.dir.clear(name); err != nil {
		return err
	}
	return l.dir.mkfifo(name)
}

// Resume continues to read the FIFOs that an engine left when it died, for tasks
// that still run. Without FIFOs it does nothing.
func (l *Log) Resume() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.streams {
		if l.closed || s.fifo != nil {
			continue
		}
		f, err := l.openFIFO(s, unix.O_RDONLY)
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

// openFIFO opens the engine's end of a FIFO, which never blocks, or the task's end,
// which does.
func (l *Log) openFIFO(s *stream, access int) (f *os.File, err error) {
	if st, err := l.dir.lstat(s.fifoName); err != nil {
		return nil, err
	} else if !isFIFO(st) {
		return nil, fmt.Errorf("%q is not a FIFO of this user", s.fifoName)
	}
	err = l.dir.at("open", s.fifoName, func(at int) error {
		fd, err := unix.Openat(at, s.fifoName, access|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err = s.checkFIFO(fd); err == nil && access == unix.O_RDWR {
			err = unix.SetNonblock(fd, false)
		}
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		f = os.NewFile(uintptr(fd), filepath.Join(l.cfg.Dir.Name(), s.fifoName))
		return nil
	})
	return f, err
}

func isFIFO(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFIFO && int(st.Uid) == os.Geteuid()
}

// checkFIFO returns an error if the FIFO was replaced: output of the task would be
// lost, or read by another program.
func (s *stream) checkFIFO(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if !isFIFO(&st) {
		return errors.New("not a FIFO of this user")
	}
	if s.fifo == nil {
		return nil
	}
	info, err := s.fifo.Stat()
	if err != nil {
		return err
	}
	if first := info.Sys().(*syscall.Stat_t); uint64(first.Dev) != uint64(st.Dev) || first.Ino != st.Ino { //nolint:unconvert // it is not the same type everywhere
		return errors.New("it was replaced")
	}
	return nil
}
