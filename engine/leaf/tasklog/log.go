// Package tasklog captures the output of tasks, keeps it in rotating files with the
// names that Nomad gives them, and reads it back.
//
// A process writes to two FIFOs, which the engine reads. There is no helper
// process, and a slow reader of the output never stops a task. The engine appends
// the output to a file, and then announces it as a piece of that file. Followers of
// the output read it from there.
package tasklog

import (
	"fmt"
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

	// Times is the directory that records when output was read. The Log creates it
	// with the first output; no task may write there. Empty: nothing is recorded.
	Times string

	// Announce is called for each piece of output, in the order in which the engine
	// reads both streams. It may read the source during the call, and must retain it
	// to read it later. A source in memory may drop its oldest pieces, which then
	// read as event.ErrOverwritten. Announce must neither wait nor call the Log. May
	// be nil.
	Announce func(stream event.Stream, src event.Source, offset, length int64, at time.Time)

	// Report is called with a *LossError when output can no longer be
	// written, and again when it can. It must neither wait nor call the Log.
	// May be nil.
	Report func(err error)
}

func (c *Config) validate() error {
	switch {
	case c.Task == "" || strings.ContainsRune(c.Task, '/'):
		return fmt.Errorf("cannot log task %q: that is not a file name", c.Task)
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

	// mu is held from the reading of a piece until its announcement, which puts the
	// pieces of both streams in one order.
	mu      sync.Mutex
	closed  bool
	streams [2]*stream
	memory  ring
}

// New opens the log of a task. It appends to the output of an earlier Log of the
// same task and directory. The first file of each stream exists from then on, even
// if it is empty. The caller must close the Log.
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
				maxFiles: cfg.MaxFiles, limit: cfg.MaxFileSize, stamper: stamper{dir: cfg.Times},
			}
			s.files.makeFirst()
		}
		l.streams[i] = s
	}
	return l, nil
}

func fifoName(task string, id event.Stream) string { return fmt.Sprintf(".%s.%s.fifo", task, id) }

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
