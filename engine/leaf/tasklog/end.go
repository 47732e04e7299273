package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"taskrun/engine/leaf/event"
)

// Drain returns when all that was written before the call is on disk and
// announced. Call it when the task has ended: processes that it left behind
// may go on writing and do not hold Drain up.
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

// Close drains and then ends the capture and removes the FIFOs. A process that
// still holds one blocks when it has filled it. Pieces that are retained stay
// readable. Closing twice does nothing.
func (l *Log) Close() error { return l.end(true) }

// Leave ends the capture and leaves the FIFOs, and what is in them, to another
// Log that resumes. A task blocks meanwhile when it has filled one. Leaving or
// closing twice does nothing.
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

// RemovePipes removes the FIFOs that the engine before this one has made for a
// task that has ended.
func RemovePipes(logs *os.Root, task string) error {
	var errs []error
	for _, id := range event.Streams {
		if err := logs.Remove(fifoName(task, id)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// closeStream works without the lock, which a reader needs to end. Nobody else
// uses the stream once the Log is closed.
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
