package drivers

import (
	"context"
	"io"

	"github.com/hashicorp/nomad/api"
)

// ExecOptions is a command that is to run in a task, with its streams.
type ExecOptions struct {
	Command []string
	Tty     bool // run it in a terminal of its own, with stdout and stderr as one
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer // not written to with Tty; may be the same as Stdout
	// Resize brings the sizes of the terminal; nil without Tty. The first one
	// usually follows at once.
	Resize <-chan api.TerminalSize
	// Term is the kind of the user's terminal, for the variable TERM; empty
	// when it is not known, and without Tty.
	Term string
}

// StreamExecer is a driver that can run a command in a running task with
// streams.
type StreamExecer interface {
	// ExecTaskStreaming runs a command with the task's environment, directory
	// and user, and returns when it has ended and its output is written. The
	// end of Stdin closes the command's own. When ctx ends, or the task does,
	// the command is killed with all that it started. Unknown tasks:
	// ErrTaskNotFound.
	ExecTaskStreaming(ctx context.Context, id string, opts *ExecOptions) (*ExitResult, error)
}

// ExecStream carries the messages of a session between a client and a command.
type ExecStream interface {
	// Recv returns what the client sends next: input, a size, or neither to
	// show that it is still there. It returns an error when the client is
	// gone, and when the session has ended.
	Recv() (*api.ExecStreamingInput, error)
	// Send is called by one goroutine at a time.
	Send(*api.ExecStreamingOutput) error
}

// TermStream is an ExecStream whose client may have told what kind of terminal
// it has. Nomad's do not.
type TermStream interface {
	Term() string
}

// RawExecer is a driver that speaks the messages of a session itself. It is
// preferred to StreamExecer.
type RawExecer interface {
	ExecTaskStreamingRaw(ctx context.Context, id string, command []string, tty bool, stream ExecStream) error
}
