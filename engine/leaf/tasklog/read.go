package tasklog

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// startReading makes sure that a goroutine reads the FIFO of a stream. The
// goroutine ends once no process has the other end open, because a FIFO without
// writers returns EOF again and again.
func (l *Log) startReading(s *stream) {
	if s.reading {
		return
	}
	conn, err := s.fifo.SyscallConn()
	if err != nil {
		return // closed
	}
	s.reading = true
	s.readers.Go(func() {
		// The error says that the FIFO was closed.
		_ = conn.Read(func(fd uintptr) bool { return l.readReady(s, int(fd)) })
	})
}

// readReady reads all that the FIFO holds, and reports whether it has no writer any
// more.
func (l *Log) readReady(s *stream, fd int) (ended bool) {
	for {
		n, ended := l.readPiece(s, fd)
		if ended || n < bufferSize {
			// A short read has emptied the FIFO: the poller reports what
			// comes after it.
			return ended
		}
	}
}

// readPiece reads, writes and announces one piece. It takes a buffer only when
// there may be something to read, so that idle tasks hold none.
func (l *Log) readPiece(s *stream, fd int) (n int, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, true
	}
	buf := takeBuffer()
	defer giveBuffer(buf)
	n, err := l.copy(s, fd, buf)
	if n == 0 && !errors.Is(err, unix.EAGAIN) {
		s.reading = false // under the same lock as the next start's check
		return 0, true
	}
	return n, false
}

// copy reads, writes and announces one piece. The lock is held.
func (l *Log) copy(s *stream, fd int, buf []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, buf); err != unix.EINTR {
			break
		}
	}
	if n <= 0 {
		return 0, err
	}
	l.write(s, buf[:n], time.Now())
	return n, nil
}

// drainStream reads only what the FIFO holds at the time of the call.
func (l *Log) drainStream(s *stream) {
	conn, err := s.fifo.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = conn.Control(func(fd uintptr) {
		left, _ := unix.IoctlGetInt(int(fd), fionread) // 0 after an error
		if left == 0 {
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

// bufferSize is the size of a buffer, which is the capacity of a FIFO.
const bufferSize = 64 << 10

// buffers are the buffers of all Logs. Their number bounds the memory, and the
// threads that wait for the disk, however many tasks write at once. A goroutine
// locks its Log first, and takes a buffer then.
var buffers = newBuffers(8)

func newBuffers(n int) chan []byte {
	c := make(chan []byte, n)
	for range n {
		c <- nil
	}
	return c
}

func takeBuffer() []byte {
	buf := <-buffers
	if buf == nil {
		buf = make([]byte, bufferSize)
	}
	return buf
}

func giveBuffer(buf []byte) { buffers <- buf }
