package drivertest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
)

// Output is a task's output kept in memory. It serves one start.
type Output struct {
	copying sync.WaitGroup

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	open           int
}

// Files returns pipes whose other ends are copied from.
func (o *Output) Files() (stdout, stderr *os.File, err error) {
	if stdout, err = o.pipe(&o.stdout); err != nil {
		return nil, nil, err
	}
	if stderr, err = o.pipe(&o.stderr); err != nil {
		stdout.Close()
		return nil, nil, err
	}
	return stdout, stderr, nil
}

// Writers returns writers into memory.
func (o *Output) Writers() (stdout, stderr io.WriteCloser, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open += 2
	return &writer{output: o, buf: &o.stdout}, &writer{output: o, buf: &o.stderr}, nil
}

// Text returns what was written, when nobody can write any more.
func (o *Output) Text() (stdout, stderr string) {
	o.copying.Wait()
	return o.Stdout(), o.stderr.String()
}

// Stdout returns what was written so far.
func (o *Output) Stdout() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stdout.String()
}

// Open is the number of writers that were not closed.
func (o *Output) Open() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

func (o *Output) pipe(buf *bytes.Buffer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	o.copying.Go(func() {
		defer r.Close()
		io.Copy(&writer{output: o, buf: buf}, r)
	})
	return w, nil
}

// writer writes to a buffer under its output's lock.
type writer struct {
	output *Output
	buf    *bytes.Buffer
}

func (w *writer) Write(p []byte) (int, error) {
	w.output.mu.Lock()
	defer w.output.mu.Unlock()
	return w.buf.Write(p)
}

func (w *writer) Close() error {
	w.output.mu.Lock()
	defer w.output.mu.Unlock()
	w.output.open--
	return nil
}
