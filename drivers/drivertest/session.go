package drivertest

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// session is a command that runs in a task, and its streams.
type session struct {
	stdin *io.PipeWriter
	sizes chan api.TerminalSize
	leave func()     // goes away, without a word
	ended chan error // gets one value, what drivers.ExecTask returned

	mu     sync.Mutex
	said   [2]strings.Builder // stdout, stderr
	late   string             // what came after the end
	exit   *int
	change chan struct{} // closed and replaced with every piece of output
}

// begin runs a command in a task.
func (f *fixture) begin(ctx context.Context, id string, argv []string, tty bool) *session {
	stdin, types := io.Pipe()
	s := &session{stdin: types, sizes: make(chan api.TerminalSize, 1), ended: make(chan error, 1), change: make(chan struct{})}
	ctx, cancel := context.WithCancelCause(ctx)
	s.leave = func() {
		cancel(errGone)
		_ = types.CloseWithError(io.ErrUnexpectedEOF)
	}
	f.Cleanup(s.leave)
	opts := &drivers.ExecOptions{Command: argv, Tty: tty, Stdin: stdin, Stdout: output{s, 0}, Stderr: output{s, 1}}
	if tty {
		opts.Resize = s.sizes
	}
	go func() {
		result, err := drivers.ExecTask(ctx, f.d, id, opts)
		s.mu.Lock()
		if err == nil {
			s.exit = &result.ExitCode
		}
		s.mu.Unlock()
		_ = stdin.Close() // the command may have ended
		s.ended <- err
	}()
	return s
}

var errGone = errors.New("the client is gone")

// output is one of the two outputs of a session.
type output struct {
	*session
	n int
}

// Write implements io.Writer.
func (o output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.exit != nil {
		o.late += string(p)
	}
	o.said[o.n].Write(p)
	close(o.change)
	o.change = make(chan struct{})
	return len(p), nil
}

func (s *session) types(text string) { _, _ = io.WriteString(s.stdin, text) } // unless it is over

func (s *session) closeStdin() { _ = s.stdin.Close() }

// resize brings a size; only the newest one counts.
func (s *session) resize(height, width int) {
	select {
	case <-s.sizes:
	default:
	}
	s.sizes <- api.TerminalSize{Height: height, Width: width}
}

// await returns when stdout contains the text.
func (f *fixture) await(s *session, text string) {
	f.Helper()
	for {
		s.mu.Lock()
		said, change := s.said[0].String(), s.change
		s.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-change:
		case <-f.ctx.Done():
			f.Fatalf("the command never said %q, only %q", text, said)
		}
	}
}

// end returns what the command said, and how its session ended.
func (f *fixture) end(s *session) (stdout, stderr string, code *int, err error) {
	f.Helper()
	select {
	case err = <-s.ended:
		s.ended <- err
	case <-f.ctx.Done():
		f.Fatal("the session does not end")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != "" {
		f.Errorf("after its end the command said %q", s.late)
	}
	return s.said[0].String(), s.said[1].String(), s.exit, err
}
