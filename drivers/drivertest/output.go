package drivertest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Output keeps a task's output in memory. It serves one start.
type Output struct {
	copying sync.WaitGroup // goroutines that read pipes

	mu     sync.Mutex
	texts  [2]strings.Builder // stdout, stderr
	open   int                // writers that are not closed
	lost   bool               // something was written to a closed writer
	change chan struct{}      // closed and replaced with every write and close
}

// NewOutput returns an empty output.
func NewOutput() *Output { return &Output{change: make(chan struct{})} }

// Files returns pipes whose other ends are read.
func (o *Output) Files() (stdout, stderr *os.File, err error) {
	if stdout, err = o.pipe(0); err != nil {
		return nil, nil, err
	}
	if stderr, err = o.pipe(1); err != nil {
		stdout.Close()
		return nil, nil, err
	}
	return stdout, stderr, nil
}

// Writers returns writers into memory.
func (o *Output) Writers() (stdout, stderr io.WriteCloser, err error) {
	return o.writer(0), o.writer(1), nil
}

// Stdout returns the text written to stdout so far.
func (o *Output) Stdout() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.texts[0].String()
}

// late reports whether something was written after the end.
func (o *Output) late() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

// Await waits until stdout contains the text.
func (o *Output) Await(ctx context.Context, text string) error {
	return o.await(ctx, func() bool { return strings.Contains(o.texts[0].String(), text) })
}

// All returns stdout and stderr once both are closed.
func (o *Output) All(ctx context.Context) (stdout, stderr string, err error) {
	if err := o.await(ctx, func() bool { return o.open == 0 }); err != nil {
		return "", "", fmt.Errorf("output was not closed: %w", err)
	}
	o.copying.Wait()
	return o.texts[0].String(), o.texts[1].String(), nil
}

// await waits until a condition holds, which it checks under the lock.
func (o *Output) await(ctx context.Context, holds func() bool) error {
	for {
		o.mu.Lock()
		ok, change := holds(), o.change
		o.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (o *Output) pipe(stream int) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	to := o.writer(stream)
	o.copying.Go(func() {
		_, _ = io.Copy(to, r) // the end of either side ends the copy
		_ = to.Close()
		_ = r.Close()
	})
	return w, nil
}

func (o *Output) writer(stream int) *writer {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open++
	return &writer{output: o, stream: stream}
}

// writer appends to one stream of an output.
type writer struct {
	output *Output
	stream int
	closed bool
}

func (w *writer) Write(p []byte) (int, error) {
	w.output.mu.Lock()
	defer w.output.mu.Unlock()
	if w.closed {
		w.output.lost = true
		return 0, os.ErrClosed
	}
	w.output.changed()
	return w.output.texts[w.stream].Write(p)
}

func (w *writer) Close() error {
	w.output.mu.Lock()
	defer w.output.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	w.closed = true
	w.output.open--
	w.output.changed()
	return nil
}

// changed wakes all waiters. The caller must hold mu.
func (o *Output) changed() {
	close(o.change)
	o.change = make(chan struct{})
}
