package drivers

import (
	"context"
	"errors"
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

// ErrExecNotSupported is the error of a driver that runs no commands in tasks.
var ErrExecNotSupported = errors.New("task driver does not support exec")

// ExecTask runs a command in a task of any driver. When ctx ends before the
// command, the error is its cause.
func ExecTask(ctx context.Context, d Driver, id string, opts *ExecOptions) (*ExitResult, error) {
	if len(opts.Command) == 0 {
		return nil, errors.New("command is not present")
	}
	execer, ok := d.(StreamExecer)
	if !ok {
		return nil, ErrExecNotSupported
	}
	result, err := execer.ExecTaskStreaming(ctx, id, opts)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}
