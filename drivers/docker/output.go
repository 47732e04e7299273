package docker

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"

	"taskrun/drivers"
)

// output copies the output of a container to the task's.
type output struct {
	stdout, stderr io.WriteCloser

	mu      sync.Mutex
	source  io.Closer     // of the current stream
	copied  chan struct{} // closed at its end
	closing sync.Once

	skip int          // lines at the beginning of the current stream
	last atomic.Int64 // time of the last read, in nanoseconds since 1970
	tail struct {     // of the written text
		sync.Mutex
		text []byte
	}
	mark mark // both on disk
}

// openOutput opens the output of a task that starts, or, again, of a recovered
// one, which continues where it was.
func openOutput(cfg *drivers.TaskConfig, again bool) (*output, error) {
	stdout, stderr, err := cfg.Output.Writers()
	if err != nil {
		return nil, fmt.Errorf("cannot open the output of %q: %w", cfg.Name, err)
	}
	o := &output{stdout: stdout, stderr: stderr}
	mark, at, tail := openMark(cfg)
	o.mark = mark
	if again {
		o.last.Store(at)
		o.tail.text = tail
	} else {
		mark.setTime(time.Now().UnixNano())
		mark.setTail(nil)
	}
	return o, nil
}

// copy copies a stream of the engine until it ends.
func (o *output) copy(source io.Closer, stream io.Reader, raw bool) {
	copied := make(chan struct{})
	o.mu.Lock()
	o.source, o.copied = source, copied
	o.mu.Unlock()
	go func() {
		defer close(copied)
		defer source.Close()
		// The end of the stream says nothing about the container; watch does.
		if raw {
			_, _ = io.Copy(noted{o.stdout, o}, stamped{stream, o})
		} else {
			_, _ = stdcopy.StdCopy(noted{o.stdout, o}, noted{o.stderr, o}, stamped{stream, o})
		}
	}()
}

// stamped is a reader that records the time of the last read.
type stamped struct {
	io.Reader
	o *output
}

func (s stamped) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 {
		now := time.Now().UnixNano()
		s.o.last.Store(now)
		s.o.mark.setTime(now)
	}
	return n, err
}

// noted is a writer that records the tail of what it writes.
type noted struct {
	io.Writer
	o *output
}

func (n noted) Write(p []byte) (int, error) {
	skipped := n.o.skipped(p)
	if p = p[skipped:]; len(p) == 0 {
		return skipped, nil
	}
	t := &n.o.tail
	t.Lock()
	t.text = addTail(t.text, p)
	n.o.mark.setTail(t.text) // before the write, so that a buffer in flight is never duplicated
	t.Unlock()
	written, err := n.Writer.Write(p)
	return skipped + written, err
}

// skipped returns how many bytes of a text belong to lines that were read before.
func (o *output) skipped(p []byte) (n int) {
	for ; o.skip > 0 && n < len(p); o.skip-- {
		end := bytes.IndexByte(p[n:], '\n')
		if end < 0 {
			return len(p)
		}
		n += end + 1
	}
	return n
}

// read returns the time of the last read, zero if there was none, and the tail
// of what was written.
func (o *output) read() (last time.Time, tail string) {
	if at := o.last.Load(); at != 0 {
		last = time.Unix(0, at)
	}
	o.tail.Lock()
	defer o.tail.Unlock()
	return last, string(o.tail.text)
}

// finish waits for the end of the stream, which it enforces after patience.
func (o *output) finish(patience time.Duration) {
	o.mu.Lock()
	source, copied := o.source, o.copied
	o.mu.Unlock()
	if source == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
		_ = source.Close()
		<-copied
	}
}

// close finishes the stream and closes the task's output.
func (o *output) close(patience time.Duration) {
	o.closing.Do(func() {
		o.finish(patience)
		_ = o.stdout.Close()
		_ = o.stderr.Close()
		o.mark.close()
	})
}
