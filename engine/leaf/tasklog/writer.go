package tasklog

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Writers returns a writer in memory for each output of a task that is no
// process. A write returns when it is on disk and announced.
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
