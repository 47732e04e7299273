package tasklog

import (
	"fmt"

	"taskrun/engine/leaf/event"
)

// LossError reports that output of a task could not be written to disk. The
// task goes on, and so does what is announced.
type LossError struct {
	Task   string
	Stream event.Stream
	Bytes  int64 // 0 when the loss begins; when it is over, how much is missing
	Err    error
}

func (e *LossError) Error() string {
	if e.Bytes == 0 {
		return fmt.Sprintf("cannot write %s of task %q: %v", e.Stream, e.Task, e.Err)
	}
	return fmt.Sprintf("%d bytes of %s of task %q were not written: %v", e.Bytes, e.Stream, e.Task, e.Err)
}

func (e *LossError) Unwrap() error { return e.Err }

// failed counts n lost bytes and reports the first of them.
func (l *Log) failed(s *stream, err error, n int) {
	begins := s.failure == nil
	s.failure = err
	s.lost += int64(n)
	if begins {
		l.report(&LossError{Task: l.cfg.Task, Stream: s.id, Err: err})
	}
}

// recovered reports what was lost, if anything was.
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
