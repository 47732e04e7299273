package drivertest

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// session is the client of a command that runs in a task.
type session struct {
	input chan *api.ExecStreamingInput
	gone  chan struct{} // closed when the client goes away
	ended chan error    // gets one value, what drivers.ExecTask returned

	mu     sync.Mutex
	said   [2]strings.Builder // stdout, stderr
	closed [2]bool
	late   string // what came after the end
	exit   *int
	change chan struct{} // closed and replaced with every message
}

// begin runs a command in a task, over messages.
func (f *fixture) begin(ctx context.Context, id string, argv []string, tty bool) *session {
	s := &session{
		input: make(chan *api.ExecStreamingInput), gone: make(chan struct{}), ended: make(chan error, 1), change: make(chan struct{}),
	}
	f.Cleanup(s.leave)
	go func() { s.ended <- drivers.ExecTask(ctx, f.d, id, argv, tty, s) }()
	return s
}

// Recv implements drivers.ExecStream.
func (s *session) Recv() (*api.ExecStreamingInput, error) {
	select {
	case m := <-s.input:
		return m, nil
	case <-s.gone:
		return nil, io.EOF
	}
}

// Send implements drivers.ExecStream.
func (s *session) Send(m *api.ExecStreamingOutput) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, op := range []*api.ExecStreamingIOOperation{m.Stdout, m.Stderr} {
		if op == nil {
			continue
		}
		if s.closed[i] || s.exit != nil {
			s.late += string(op.Data)
		}
		s.said[i].Write(op.Data)
		s.closed[i] = s.closed[i] || op.Close
	}
	if m.Exited {
		s.exit = &m.Result.ExitCode
	}
	close(s.change)
	s.change = make(chan struct{})
	return nil
}

// send sends a message to the command, unless its session is over.
func (s *session) send(m *api.ExecStreamingInput) {
	select {
	case s.input <- m:
	case err := <-s.ended:
		s.ended <- err
	}
}

func (s *session) types(text string) {
	s.send(&api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: []byte(text)}})
}

func (s *session) closeStdin() {
	s.send(&api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Close: true}})
}

func (s *session) resize(height, width int) {
	s.send(&api.ExecStreamingInput{TTYSize: &api.TerminalSize{Height: height, Width: width}})
}

// leave goes away without a word. It may be called often.
func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
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
	if s.exit != nil && s.closed != [2]bool{true, true} {
		f.Error("the exit code came, but not the end of both outputs")
	}
	return s.said[0].String(), s.said[1].String(), s.exit, err
}
