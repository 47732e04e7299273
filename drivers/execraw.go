package drivers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// ErrExecNotSupported is the error of a driver that runs no commands in tasks.
var ErrExecNotSupported = errors.New("task driver does not support exec")

// maxUnread is how much input, in bytes, waits for a command that does not
// read. Beyond that the client has to wait.
const maxUnread = 1 << 20

// ExecTask runs a command in a task of any driver over the messages of a
// session. Each of the two outputs ends with a message that closes it, and the
// command's exit code is the last of all; a command killed by signal n exits
// with 128+n. A client that goes away takes the command with it.
func ExecTask(ctx context.Context, d Driver, id string, command []string, tty bool, stream ExecStream) error {
	if len(command) == 0 {
		return errors.New("command is not present")
	}
	switch d := d.(type) {
	case RawExecer:
		return d.ExecTaskStreamingRaw(ctx, id, command, tty, stream)
	case StreamExecer:
		return execStreams(ctx, d, id, command, tty, stream)
	default:
		return ErrExecNotSupported
	}
}

// execStreams gives a StreamExecer the streams that the messages stand for.
func execStreams(ctx context.Context, d StreamExecer, id string, command []string, tty bool, stream ExecStream) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in := newInput()
	defer in.close(io.ErrClosedPipe)
	opts := &ExecOptions{Command: command, Tty: tty, Stdin: in}
	var sizes chan api.TerminalSize
	if tty {
		sizes = make(chan api.TerminalSize, 1)
		opts.Resize = sizes
		if s, ok := stream.(TermStream); ok {
			opts.Term = s.Term()
		}
	}
	go receive(ctx, cancel, stream, in, sizes)

	var sending sync.Mutex
	send := func(m *api.ExecStreamingOutput) error {
		sending.Lock()
		defer sending.Unlock()
		return stream.Send(m)
	}
	opts.Stdout = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stdout: op}) }}
	opts.Stderr = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stderr: op}) }}

	result, err := d.ExecTaskStreaming(ctx, id, opts)
	if err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	closed := &api.ExecStreamingIOOperation{Close: true}
	for _, m := range []*api.ExecStreamingOutput{
		{Stdout: closed},
		{Stderr: closed},
		{Exited: true, Result: &api.ExecStreamingExitResult{ExitCode: result.ExitCode}},
	} {
		if err := send(m); err != nil {
			return fmt.Errorf("cannot tell the client of the end: %w", err)
		}
	}
	return nil
}

// receive hands on what the client sends, until it or the session is gone.
func receive(ctx context.Context, cancel context.CancelCauseFunc, stream ExecStream, in *input, sizes chan api.TerminalSize) {
	for {
		m, err := stream.Recv()
		if err != nil {
			cancel(fmt.Errorf("the client is gone: %w", err))
			in.close(io.ErrUnexpectedEOF)
			return
		}
		switch {
		case m.Stdin != nil && m.Stdin.Close:
			in.close(io.EOF)
		case m.Stdin != nil:
			in.write(m.Stdin.Data)
		case m.TTYSize != nil && sizes != nil:
			select { // only the newest size counts
			case <-sizes:
			default:
			}
			select {
			case sizes <- *m.TTYSize:
			case <-ctx.Done():
			}
		}
	}
}

// output is a writer that sends what is written as messages.
type output struct {
	send func(*api.ExecStreamingIOOperation) error
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.send(&api.ExecStreamingIOOperation{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// input is a pipe of bounded size: it takes what the client sends without
// waiting for the command, so that the next message, or its end, is seen.
type input struct {
	mu     sync.Mutex
	change *sync.Cond
	unread []byte
	err    error // what Read returns behind the unread
}

func newInput() *input {
	in := &input{}
	in.change = sync.NewCond(&in.mu)
	return in
}

func (in *input) write(p []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.unread) >= maxUnread && in.err == nil {
		in.change.Wait()
	}
	if in.err == nil {
		in.unread = append(in.unread, p...)
		in.change.Broadcast()
	}
}

// close ends the input; the first call counts.
func (in *input) close(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = err
	}
	in.change.Broadcast()
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.unread) == 0 && in.err == nil {
		in.change.Wait()
	}
	if len(in.unread) == 0 {
		return 0, in.err
	}
	n := copy(p, in.unread)
	in.unread = in.unread[n:]
	if len(in.unread) == 0 {
		in.unread = nil // let go of what grew
	}
	in.change.Broadcast()
	return n, nil
}
