package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"taskrun/engine/leaf/event"
)

// Drain returns once all output that was written before the call is on disk and
// announced. Call it after the end of the task. Drain does not wait for processes
// that the task has left behind.
func (l *Log) Drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
}

func (l *Log) drain() {
	for _, s := range l.streams {
		if s.fifo != nil && !l.closed {
			l.drainStream(s)
		}
	}
}

// Close drains, ends the capture, and removes the FIFOs. A process that still
// writes to one blocks once it is full. Retained pieces stay readable. A second
// Close does nothing.
func (l *Log) Close() error { return l.end(true) }

// Leave ends the capture, but keeps the FIFOs and their contents for another Log
// that resumes. Until then a task blocks once it has filled one. A second Leave or
// Close does nothing.
func (l *Log) Leave() error { return l.end(false) }

func (l *Log) end(forGood bool) error {
	l.mu.Lock()
	if forGood {
		l.drain()
	}
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, s := range l.streams {
		errs = append(errs, l.closeStream(s, forGood))
	}
	errs = append(errs, l.dir.close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cannot close the logs of task %q: %w", l.cfg.Task, err)
	}
	return nil
}

// RemovePipes removes the FIFOs that an earlier engine made for a task that has
// ended.
func RemovePipes(logs *os.Root, task string) error {
	var errs []error
	for _, id := range event.Streams {
		if err := logs.Remove(fifoName(task, id)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// closeStream does not take the lock, because a reader needs it to end. Once the
// Log is closed, nothing else uses the stream.
func (l *Log) closeStream(s *stream, forGood bool) error {
	var err error
	if s.fifo != nil {
		err = s.fifo.Close()
		s.readers.Wait()
		if forGood {
			if rmErr := l.dir.remove(s.fifoName); !errors.Is(rmErr, fs.ErrNotExist) {
				err = errors.Join(err, rmErr)
			}
		}
	}
	l.recovered(s)
	if s.files != nil {
		s.files.close()
	}
	return err
}
