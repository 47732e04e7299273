package client

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hashicorp/nomad/api"
)

// Session is a command to run in a task, with its streams.
type Session struct {
	Command        []string
	Action         string // of the task's job, instead of a command
	Tty            bool   // the command gets a terminal
	Term           string // TERM of the user's terminal; clusters ignore it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Sizes          <-chan api.TerminalSize // of the user's terminal; may be nil
}

// ErrGone says that an engine ended during a session.
var ErrGone = errors.New("the run is gone: taskrun up was killed or has crashed")

// Lost explains the error that ended a session or a stream. An engine gives a
// reason before it ends a session. Without one, Nomad's client returns only the
// text of the error.
func (s *Server) Lost(err error) error {
	var broken *net.OpError
	switch {
	case err.Error() != io.ErrUnexpectedEOF.Error() && !errors.As(err, &broken):
		return err
	case s.Socket == "":
		return fmt.Errorf("the connection was lost: %w", err)
	}
	return ErrGone
}
