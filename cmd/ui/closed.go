package ui

import (
	"context"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// WatchOut calls closed when the reader of stdout is gone, which a command that
// writes nothing would not notice. It passes an error that is EPIPE, at most
// once, and never after stop has returned.
func (s *Streams) WatchOut(closed context.CancelCauseFunc) (stop func()) {
	out, ok := s.Out.(*os.File)
	if !ok || s.OutTerm {
		return func() {}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return func() {} // a write will report it
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		defer r.Close()
		if readerGone(out.Fd(), r.Fd()) {
			closed(&os.PathError{Op: "write", Path: out.Name(), Err: syscall.EPIPE})
		}
	})
	return func() {
		_ = w.Close() // wakes the watch
		watching.Wait()
	}
}

// readerGone waits until the other end of a pipe or socket is closed. It
// returns false if wake was closed before that, or if out is neither a pipe nor
// a socket.
func readerGone(out, wake uintptr) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(out)}, {Fd: int32(wake), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil, fds[1].Revents != 0, fds[0].Revents&unix.POLLNVAL != 0:
			return false
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
			return true
		}
	}
}
