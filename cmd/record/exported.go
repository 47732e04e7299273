package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"taskrun/cmd/client"
)

// exported is an output of a task in an exported run, with the times at which it
// was read from the task.
type exported struct {
	file   io.Closer     // nil: there is no output
	text   *bufio.Reader // of it
	offset int64         // of the next read
	times  times
	at     time.Time
}

func openOutput(from *archive, name string, part client.Log) (client.Output, error) {
	lines, begin := 0, int64(0)
	if part.Tail >= 0 || !part.Since.IsZero() {
		whole, err := openWhole(from, name)
		if err != nil {
			return nil, err
		}
		lines, begin, err = whole.scan(part.Since)
		if err = errors.Join(err, whole.Close()); err != nil {
			return nil, err
		}
	}
	e, err := openWhole(from, name)
	if err != nil {
		return nil, err
	}
	surplus := 0
	if part.Tail >= 0 {
		surplus = lines - part.Tail
	}
	if err := e.skip(surplus, begin); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func openWhole(from *archive, name string) (*exported, error) {
	e := &exported{text: bufio.NewReader(strings.NewReader(""))}
	f, err := from.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, err
	}
	e.file, e.text, e.times.now = f, bufio.NewReaderSize(f, 64<<10), from.about.Exported
	if f, err := from.open(name + timesSuffix); err == nil {
		e.times.file, e.times.lines = f, bufio.NewReader(f)
	}
	return e, nil
}

// scan reads to the end, and returns the number of lines and the offset of the
// first line that did not end before a time.
func (e *exported) scan(since time.Time) (lines int, begin int64, err error) {
	buf, line, found, whole := make([]byte, 64<<10), int64(0), since.IsZero(), true
	for {
		n, err := e.Read(buf)
		if n > 0 {
			if !found && !e.at.Before(since) {
				begin, found = line, true
			}
			lines += bytes.Count(buf[:n], []byte{'\n'})
			if end := bytes.LastIndexByte(buf[:n], '\n'); end >= 0 {
				line = e.offset - int64(n) + int64(end) + 1
			}
			whole = buf[n-1] == '\n'
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if !whole {
		lines++
	}
	if !found {
		begin = e.offset
	}
	return lines, begin, nil
}

// skip skips a number of lines, and everything before an offset.
func (e *exported) skip(lines int, begin int64) error {
	for lines > 0 {
		piece, err := e.text.ReadSlice('\n')
		e.offset += int64(len(piece))
		switch {
		case err == nil:
			lines--
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
	for e.offset < begin {
		n, err := e.text.Discard(int(min(begin-e.offset, 1<<20)))
		e.offset += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Read reads output of one time.
func (e *exported) Read(p []byte) (int, error) {
	var until int64
	e.at, until = e.times.find(e.offset)
	n, err := e.text.Read(p[:min(int64(len(p)), until-e.offset)])
	e.offset += int64(n)
	return n, err
}

// Time returns when the output of the latest Read was read from the task. Where
// that was not kept it is the time of the export.
func (e *exported) Time() time.Time { return e.at }

// Close closes the output.
func (e *exported) Close() error {
	if e.file == nil {
		return nil
	}
	if e.times.file != nil {
		return errors.Join(e.file.Close(), e.times.file.Close())
	}
	return e.file.Close()
}

// times are the times of an output: lines with an offset, and the time of the
// output from there on in Unix nanoseconds.
type times struct {
	file  io.Closer
	lines *bufio.Reader // nil: there are no more
	now   time.Time     // of the latest read
	next  int64         // offset of the next one
	then  time.Time     // the next one
	known bool          // it is
}

// find returns the time of the output at an offset, which is not before that of the
// last call, and where the output of another time begins.
func (t *times) find(offset int64) (at time.Time, until int64) {
	for t.peek() && t.next <= offset {
		t.now, t.known = t.then, false
	}
	if !t.known {
		return t.now, math.MaxInt64
	}
	return t.now, t.next
}

func (t *times) peek() bool {
	if t.known || t.lines == nil {
		return t.known
	}
	line, err := t.lines.ReadSlice('\n')
	offset, at, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	begin, noOffset := strconv.ParseInt(offset, 10, 64)
	nanos, noTime := strconv.ParseInt(at, 10, 64)
	if err != nil || noOffset != nil || noTime != nil {
		t.lines = nil
		return false
	}
	t.next, t.then, t.known = begin, time.Unix(0, nanos), true
	return true
}

func (a *archive) output(alloc, task string, part client.Log) (client.Output, error) {
	name := outputName(alloc, task, part.Stream)
	if a.entries[name] == nil && a.about.NoOutput {
		return nil, &NoOutputError{a.path}
	}
	return openOutput(a, name, part)
}
