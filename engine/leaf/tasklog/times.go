package tasklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"taskrun/engine/leaf/event"
)

// Part selects what to read of an output on disk.
type Part struct {
	Logs   string // the directory of the allocation's logs
	Times  string // see Config
	Task   string
	Stream event.Stream
	Tail   int       // number of last lines, including an unterminated one; negative: all
	Since  time.Time // omits lines that ended before; zero: none
}

// Open opens a part of an output. Each Read returns output that was read at one time.
// The files need not exist yet. If the lines of Tail exceed 256 MiB, there are fewer
// of them, and the first one lacks its beginning.
func (p Part) Open() (*Reader, error) {
	var r *Reader
	var err error
	if p.Tail < 0 {
		r, err = OpenReader(p.Logs, p.Task, p.Stream, 0, io.SeekStart)
	} else {
		r, err = openTail(p.Logs, p.Task, p.Stream, p.Tail)
	}
	if err != nil {
		return nil, err
	}
	r.readTimes(p.Times)
	if err := r.since(p.Since); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot read %s of task %q: %w", p.Stream, p.Task, err), r.Close())
	}
	return r, nil
}

// readTimes makes each Read return output of one time.
func (r *Reader) readTimes(dir string) {
	r.times = dir
	if r.file != nil {
		r.stamps = r.stampsOf(r.index)
	}
	for i := range r.held {
		r.held[i].stamps = r.stampsOf(r.held[i].index)
	}
}

// Time returns when the output of the latest Read was read from the task. If that
// was not recorded, it returns when the file was last written. Only the readers of a
// Part know times.
func (r *Reader) Time() time.Time { return r.time }

// since skips the lines that ended before a time.
func (r *Reader) since(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	var (
		buf  = make([]byte, tailBlock)
		line int64 // where the present line began, in the file
		file *os.File
	)
	for {
		n, err := r.Read(buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		begin := r.offset - int64(n)
		if r.file != file {
			file, line = r.file, begin
		}
		if !r.time.Before(t) {
			r.move(int(line - r.offset))
			r.stamps.rewind()
			return nil
		}
		if end := bytes.LastIndexByte(buf[:n], '\n'); end >= 0 {
			line = begin + int64(end) + 1
		}
	}
}
