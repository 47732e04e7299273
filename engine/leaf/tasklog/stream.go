package tasklog

import (
	"os"
	"sync"
	"time"

	"taskrun/engine/leaf/event"
)

// stream is one of a task's two outputs. It is guarded by the Log's lock.
type stream struct {
	id       event.Stream
	fifoName string
	fifo     *os.File // the reading end; nil before the first start of a process
	reading  bool     // a goroutine reads fifo
	readers  sync.WaitGroup
	files    *files // nil when disabled
	lost     int64  // bytes that could not be written since failure
	failure  error  // why the latest write failed; nil when it did not
}

// write puts p on disk and announces it. What the disk does not take is
// announced from memory and counted. The lock is held.
func (l *Log) write(s *stream, p []byte, at time.Time) {
	if s.files != nil {
		s.files.endCutLine()
	}
	for s.files != nil && len(p) > 0 {
		src, offset, n, err := s.files.put(p)
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
