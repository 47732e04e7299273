package tasklog

import (
	"fmt"
	"io"
	"os"
	"time"

	"taskrun/engine/leaf/event"
)

// write writes p to disk and announces it. If a write fails, it announces the rest
// from memory and counts it. The caller must hold the lock.
func (l *Log) write(s *stream, p []byte, at time.Time) {
	if s.files != nil {
		s.files.endCutLine(at)
	}
	for s.files != nil && len(p) > 0 {
		src, offset, n, err := s.files.put(p, at)
		if n > 0 {
			l.announce(s, src, offset, n, at)
			p = p[n:]
		}
		if err != nil {
			s.files.markCut(s.files.midLine)
			l.failed(s, err, len(p))
			break
		}
		l.recovered(s)
	}
	if len(p) > 0 && l.cfg.Announce != nil {
		src := l.memory.put(p)
		l.announce(s, src, 0, len(p), at)
		src.Release()
	}
}

func (l *Log) announce(s *stream, src event.Source, offset int64, n int, at time.Time) {
	if l.cfg.Announce != nil {
		l.cfg.Announce(s.id, src, offset, int64(n), at)
	}
}

// Writers returns a writer for each output of a task that is not a process. A write
// returns once the output is on disk and announced.
func (l *Log) Writers() (stdout, stderr io.WriteCloser, err error) {
	return &writer{log: l, stream: l.streams[0]}, &writer{log: l, stream: l.streams[1]}, nil
}

type writer struct {
	log    *Log
	stream *stream
	closed bool // guarded by the Log's lock
}

func (w *writer) Write(p []byte) (int, error) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.closed || w.log.closed {
		return 0, fmt.Errorf("cannot write to %s of task %q: %w", w.stream.id, w.log.cfg.Task, os.ErrClosed)
	}
	w.log.write(w.stream, p, time.Now())
	return len(p), nil
}

func (w *writer) Close() error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.closed = true
	return nil
}

// LossError reports that output of a task could not be written to disk. The task
// continues, and its output is still announced.
type LossError struct {
	Task   string
	Stream event.Stream
	Bytes  int64 // 0 at the beginning of a loss; the number of missing bytes at its end
	Err    error
}

func (e *LossError) Error() string {
	if e.Bytes == 0 {
		return fmt.Sprintf("cannot write %s of task %q: %v", e.Stream, e.Task, e.Err)
	}
	return fmt.Sprintf("%d bytes of %s of task %q were not written: %v", e.Bytes, e.Stream, e.Task, e.Err)
}

func (e *LossError) Unwrap() error { return e.Err }

// failed counts n lost bytes, and reports the beginning of a loss.
func (l *Log) failed(s *stream, err error, n int) {
	begins := s.failure == nil
	s.failure = err
	s.lost += int64(n)
	if begins {
		l.report(&LossError{Task: l.cfg.Task, Stream: s.id, Err: err})
	}
}

// recovered reports the end of a loss, if there was one.
func (l *Log) recovered(s *stream) {
	if s.failure == nil {
		return
	}
	err := &LossError{Task: l.cfg.Task, Stream: s.id, Bytes: s.lost, Err: s.failure}
	s.failure, s.lost = nil, 0
	l.report(err)
}

func (l *Log) report(err error) {
	if l.cfg.Report != nil {
		l.cfg.Report(err)
	}
}
