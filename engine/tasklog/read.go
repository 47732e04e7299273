package tasklog

import (
	"time"

	"golang.org/x/sys/unix"
)

// startReading makes sure that a goroutine reads the stream's FIFO. It ends
// when nobody holds the FIFO's other end: a FIFO without writers would read as
// its end over and over.
func (l *Log) startReading(s *stream) {
	if s.reading {
		return
	}
	conn, err := s.fifo.SyscallConn()
	if err != nil {
		return // closed
	}
	s.reading = true
	l.readers.Go(func() {
		// The error says that the FIFO was closed.
		_ = conn.Read(func(fd uintptr) bool { return l.readReady(s, int(fd)) })
	})
}

// readReady reads what is there. It reports false when more may come.
func (l *Log) readReady(s *stream, fd int) (ended bool) {
	for {
		n, err := l.readPiece(s, fd)
		switch {
		case err == unix.EAGAIN:
			return false
		case n <= 0:
			return true
		case n < bufferSize:
			// The FIFO was empty for a moment: the poller tells of whatever
			// came since.
			return false
		}
	}
}

// readPiece reads, writes and announces one piece. The buffer is taken only
// now that there may be something to read, so an idle task holds none.
func (l *Log) readPiece(s *stream, fd int) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, nil
	}
	buf := takeBuffer()
	defer giveBuffer(buf)
	n, err = l.copy(s, fd, buf)
	if n == 0 && err == nil {
		s.reading = false
	}
	return n, err
}

func (l *Log) copy(s *stream, fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, buf); err != unix.EINTR {
			break
		}
	}
	if n > 0 {
		l.write(s, buf[:n], time.Now())
	}
	return max(n, 0), err
}

// drainStream reads what the FIFO holds now, and no more than that.
func (l *Log) drainStream(s *stream) {
	conn, err := s.fifo.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = conn.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), fionread)
		if err != nil || left == 0 {
			return
		}
		buf := takeBuffer()
		defer giveBuffer(buf)
		for left > 0 {
			n, err := l.copy(s, int(fd), buf[:min(left, bufferSize)])
			if n == 0 || err != nil {
				return
			}
			left -= n
		}
	})
}
