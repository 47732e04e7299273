package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

var errOOM = errors.New("OOM Killed")

// output takes what a container writes to where the task's output goes.
type output struct {
	stdout, stderr io.WriteCloser

	mu      sync.Mutex
	source  io.Closer     // of the stream that is copied now
	copied  chan struct{} // closed at its end
	closing sync.Once

	last atomic.Int64 // when something was read, in nanoseconds since 1970
	tail struct {     // what was handed on last
		sync.Mutex
		text []byte
	}
	mark mark // both on disk
}

// openOutput opens the output of a task that starts, or of one that was found
// again and goes on where it was.
func openOutput(cfg *drivers.TaskConfig, again bool) (*output, error) {
	stdout, stderr, err := cfg.Output.Writers()
	if err != nil {
		return nil, fmt.Errorf("cannot open the output of task %q: %w", cfg.Name, err)
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
		// Whatever ends the stream, whether the container lives is asked
		// elsewhere.
		if raw {
			_, _ = io.Copy(noted{o.stdout, o}, stamped{stream, o})
		} else {
			_, _ = stdcopy.StdCopy(noted{o.stdout, o}, noted{o.stderr, o}, stamped{stream, o})
		}
	}()
}

// stamped is a reader that notes when something was read.
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

// noted is a writer that notes what was handed on last.
type noted struct {
	io.Writer
	o *output
}

func (n noted) Write(p []byte) (int, error) {
	written, err := n.Writer.Write(p)
	t := &n.o.tail
	t.Lock()
	defer t.Unlock()
	t.text = addTail(t.text, p[:written])
	n.o.mark.setTail(t.text)
	return written, err
}

// read is when something was read, zero if nothing was, and what was handed on
// last.
func (o *output) read() (last time.Time, tail string) {
	if at := o.last.Load(); at != 0 {
		last = time.Unix(0, at)
	}
	o.tail.Lock()
	defer o.tail.Unlock()
	return last, string(o.tail.text)
}

// finish returns when the stream has ended, which it must in that time.
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

// close ends the copying, which it gives that time, and closes the task's
// output.
func (o *output) close(patience time.Duration) {
	o.closing.Do(func() {
		o.finish(patience)
		_ = o.stdout.Close()
		_ = o.stderr.Close()
		o.mark.close()
	})
}

// attach copies what the container writes from now on.
func (t *task) attach(ctx context.Context) error {
	stream, err := t.cli.ContainerAttach(ctx, t.container, client.ContainerAttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	t.output.copy(stream.Conn, stream.Reader, t.tty)
	return nil
}

// resume copies on after the stream has broken, from what the engine has kept
// since.
func (t *task) resume() {
	if t.mute {
		return
	}
	t.output.finish(0)
	logs, err := t.cli.ContainerLogs(t.interest, t.container, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Since: t.since(t.interest),
	})
	if err != nil {
		t.driver.emit(t.cfg, "The output of the task is lost from here on", nil, err)
		return
	}
	t.output.copy(logs, logs, t.tty)
}
