// Package tasklog captures the output of tasks, keeps it in rotating files
// named as Nomad names them, and reads it back.
//
// A process writes to two FIFOs that the engine reads: there is no helper
// process, and no reader of the output ever stops a task. What was read is
// appended to a file and then announced as a piece of that file, so that
// whoever follows the output reads it from there.
package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"taskrun/engine/leaf/event"
)

// Config says what to capture and where to put it.
type Config struct {
	Dir         *os.Root // the logs directory of the allocation, which New does not keep
	Task        string
	MaxFiles    int   // per stream, at least 1
	MaxFileSize int64 // bytes, at least 1; no file grows larger
	Disabled    bool  // write no output to disk; announce it from memory

	// Announce is called for each piece of output, in the order of reading
	// over both streams. The source may be read during the call; who keeps it
	// longer retains it. A source in memory may give up its oldest pieces, and
	// then reads as event.ErrOverwritten. Announce must neither wait nor call the
	// Log. May be nil.
	Announce func(stream event.Stream, src event.Source, offset, length int64, at time.Time)

	// Report is called with a *LossError when output can no longer be
	// written, and again when it can. It must neither wait nor call the Log.
	// May be nil.
	Report func(err error)
}

func (c *Config) validate() error {
	switch {
	case c.Task == "" || strings.ContainsRune(c.Task, '/'):
		return fmt.Errorf("cannot log task %q: that is no file name", c.Task)
	case len(c.Task) > MaxName:
		return fmt.Errorf("cannot log task %q: the name is longer than %d bytes", c.Task, MaxName)
	case c.Disabled:
		return nil
	case c.MaxFiles < 1 || c.MaxFileSize < 1:
		return fmt.Errorf("cannot log task %q in %d files of %d bytes", c.Task, c.MaxFiles, c.MaxFileSize)
	}
	return nil
}

// Log captures the output of one task over all its starts. It implements
// drivers.Output. Its methods may be called from several goroutines at once.
type Log struct {
	cfg Config
	dir dir

	// mu is held from the reading of a piece until it is announced: that is
	// what puts the pieces of both streams into one order.
	mu      sync.Mutex
	closed  bool
	streams [2]*stream
	memory  ring
}

// New opens the log of a task and goes on behind what an earlier Log of the
// same task and directory has written. The first file of each stream exists from
// now on, empty or not. The Log must be closed.
func New(cfg Config) (*Log, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d, err := dirOf(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open the logs of task %q: %w", cfg.Task, err)
	}
	l := &Log{cfg: cfg, dir: d}
	for i := range l.streams {
		id := event.Stream(i)
		s := &stream{id: id, fifoName: fifoName(cfg.Task, id)}
		if !cfg.Disabled {
			s.files = &files{
				dir: d, prefix: cfg.Task + "." + id.String(),
				maxFiles: cfg.MaxFiles, limit: cfg.MaxFileSize,
			}
			s.files.makeFirst()
		}
		l.streams[i] = s
	}
	return l, nil
}

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

func fifoName(task string, id event.Stream) string { return fmt.Sprintf(".%s.%s.fifo", task, id) }

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
