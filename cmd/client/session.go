package client

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/hashicorp/nomad/api"
)

// Session is a command that is to run in a task, with its streams.
type Session struct {
	Command        []string
	Action         string // of the task's job, instead of a command
	Tty            bool   // it gets a terminal of its own
	Term           string // what kind of terminal the user has (TERM); only engines of taskrun listen to it
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Sizes          <-chan api.TerminalSize // of the user's terminal; may be nil
}

// ErrGone says that an engine went away in the middle of a session.
var ErrGone = errors.New("the run is gone: taskrun up was killed or has crashed")

// Lost says why a session or a stream broke off. An engine tells before it ends a session
// itself; of one that did not, Nomad's client hands on no more than the text.
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
