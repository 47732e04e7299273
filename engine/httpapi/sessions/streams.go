package sessions

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// maxUnread is how much input, in bytes, waits for a command that does not
// read. Beyond that the client has to wait.
const maxUnread = 1 << 20

// messages are those of a session between a client and a command, in the format
// of Nomad's API.
type messages interface {
	// Recv returns what the client sends next: input, a size, or neither to
	// show that it is still there. It returns an error when the client is
	// gone, and when the session has ended.
	Recv() (*api.ExecStreamingInput, error)
	// Send is called by one goroutine at a time.
	Send(*api.ExecStreamingOutput) error
}

// stream runs a command, whose streams are made of messages. Each of the two
// outputs ends with a message that closes it, and the command's exit code is the
// last of all; a command killed by signal n exits with 128+n. A client that goes
// away takes the command with it.
func stream(ctx context.Context, m messages, opts *drivers.ExecOptions, run func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in := newInput()
	defer in.close(io.ErrClosedPipe)
	opts.Stdin = in
	var sizes chan api.TerminalSize
	if opts.Tty {
		sizes = make(chan api.TerminalSize, 1)
		opts.Resize = sizes
	}
	go receive(ctx, cancel, m, in, sizes)

	var sending sync.Mutex
	send := func(out *api.ExecStreamingOutput) error {
		sending.Lock()
		defer sending.Unlock()
		return m.Send(out)
	}
	opts.Stdout = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stdout: op}) }}
	opts.Stderr = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stderr: op}) }}

	result, err := run(ctx, opts)
	if err != nil {
		return err
	}
	closed := &api.ExecStreamingIOOperation{Close: true}
	for _, out := range []*api.ExecStreamingOutput{
		{Stdout: closed},
		{Stderr: closed},
		{Exited: true, Result: &api.ExecStreamingExitResult{ExitCode: result.ExitCode}},
	} {
		if err := send(out); err != nil {
			return fmt.Errorf("cannot tell the client of the end: %w", err)
		}
	}
	return nil
}

// receive hands on what the client sends, until it or the session is gone.
func receive(ctx context.Context, cancel context.CancelCauseFunc, from messages, in *input, sizes chan api.TerminalSize) {
	for {
		m, err := from.Recv()
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
