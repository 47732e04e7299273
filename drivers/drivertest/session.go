package drivertest

import (
	"context"
	"errors"
	"io"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// session is a command that runs in a task, and its streams.
type session struct {
	stdin  *io.PipeWriter
	sizes  chan api.TerminalSize
	leave  func() // disconnects the client
	output *Output
	ended  chan struct{} // closed at its end
	result *drivers.ExitResult
	err    error
}

// begin runs a command in a task. With a terminal it sends a first size at once, as
// clients do.
func (f *fixture) begin(ctx context.Context, id string, argv []string, tty bool) *session {
	input, stdin := io.Pipe()
	s := &session{stdin: stdin, sizes: make(chan api.TerminalSize, 1), output: NewOutput(), ended: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(ctx)
	s.leave = func() {
		cancel(errors.New("the client is gone"))
		_ = stdin.CloseWithError(io.ErrUnexpectedEOF)
	}
	f.Cleanup(s.leave)
	stdout, stderr, _ := s.output.Writers() // of memory
	opts := &drivers.ExecOptions{Command: argv, Tty: tty, Stdin: input, Stdout: stdout, Stderr: stderr}
	if tty {
		opts.Resize = s.sizes
		s.resize(24, 80)
	}
	go func() {
		defer close(s.ended)
		s.result, s.err = drivers.ExecTask(ctx, f.d, id, opts)
		_ = errors.Join(stdout.Close(), stderr.Close(), input.Close()) // the command may have ended without reading everything
	}()
	return s
}

func (s *session) types(text string) { _, _ = io.WriteString(s.stdin, text) } // unless it has ended

func (s *session) closeStdin() { _ = s.stdin.Close() }

// resize sends a size, which replaces one that was not read yet.
func (s *session) resize(height, width int) {
	select {
	case <-s.sizes:
	default:
	}
	s.sizes <- api.TerminalSize{Height: height, Width: width}
}

// end returns the output of a command and how its session ended.
func (f *fixture) end(s *session) (stdout, stderr string, result *drivers.ExitResult, err error) {
	f.Helper()
	select {
	case <-s.ended:
	case <-f.ctx.Done():
		f.Fatal("the session does not end")
	}
	stdout, stderr, _ = s.output.All(f.ctx)
	if s.output.late() {
		f.Error("the driver wrote output after the end")
	}
	return stdout, stderr, s.result, s.err
}

// deaf returns the options of a client without input that drops all output.
func (f *fixture) deaf(argv []string, tty bool) *drivers.ExecOptions {
	stdin, types := io.Pipe()
	f.Cleanup(func() { _ = types.Close() })
	return &drivers.ExecOptions{Command: argv, Tty: tty, Stdin: stdin, Stdout: io.Discard, Stderr: io.Discard, Resize: make(chan api.TerminalSize)}
}
