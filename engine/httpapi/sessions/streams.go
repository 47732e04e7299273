package sessions

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// maxUnread limits the input, in bytes, for a command that does not read.
// Beyond that the client has to wait.
const maxUnread = 1 << 20

// streams are the streams of a command. They convert messages of the client to
// input, and output to messages, in the format of Nomad's API.
type streams struct {
	stdin   input
	sizes   chan api.TerminalSize // sizes of the client's terminal; only the newest one is kept
	sending sync.Mutex
	send    func(*api.ExecStreamingOutput) error // called while sending is locked
}

func newStreams(send func(*api.ExecStreamingOutput) error) *streams {
	s := &streams{sizes: make(chan api.TerminalSize, 1), send: send}
	s.stdin.change.L = &s.stdin.mu
	return s
}

// take processes a message of the client: input, a size, or neither, as a sign
// of life. Calls must not be concurrent.
func (s *streams) take(m *api.ExecStreamingInput) {
	switch {
	case m.Stdin != nil && m.Stdin.Close:
		s.stdin.close(io.EOF)
	case m.Stdin != nil:
		s.stdin.write(m.Stdin.Data)
	case m.TTYSize != nil:
		select {
		case <-s.sizes:
		default:
		}
		s.sizes <- *m.TTYSize
	}
}

// run runs a command with these streams. Each of the two outputs ends with a
// message that closes it. The last message of all has the exit code, which is
// 128+n for a command killed by signal n.
func (s *streams) run(ctx context.Context, opts *drivers.ExecOptions, run func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error)) error {
	send := func(out *api.ExecStreamingOutput) error {
		s.sending.Lock()
		defer s.sending.Unlock()
		return s.send(out)
	}
	opts.Stdin = &s.stdin
	opts.Stdout = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stdout: op}) }}
	opts.Stderr = &output{func(op *api.ExecStreamingIOOperation) error { return send(&api.ExecStreamingOutput{Stderr: op}) }}
	if opts.Tty {
		opts.Resize = s.sizes
	}
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
			return fmt.Errorf("cannot send the end of the command to the client: %w", err)
		}
	}
	return nil
}

// output is a writer that sends messages.
type output struct {
	send func(*api.ExecStreamingIOOperation) error
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.send(&api.ExecStreamingIOOperation{Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}

// input is a pipe of bounded size. It accepts input without waiting for the
// command, so that the next message, or the end of the client, is noticed.
type input struct {
	mu     sync.Mutex
	change sync.Cond
	unread []byte
	err    error // the error of Read after the unread bytes
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

// close ends the input. Only the first call counts.
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
		in.unread = nil // release the memory
	}
	in.change.Broadcast()
	return n, nil
}
