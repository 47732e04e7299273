package drivers

import (
	"context"
	"errors"
	"io"

	"github.com/hashicorp/nomad/api"
)

// ExecOptions describe a command to run in a task, and its streams.
type ExecOptions struct {
	Command []string
	Tty     bool // run it in its own terminal, with stdout and stderr as one
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer // not written to with Tty; may be the same as Stdout
	// Resize receives the sizes of the terminal, usually the first one at once;
	// nil without Tty.
	Resize <-chan api.TerminalSize
	// Term is the value of TERM; empty if unknown, and without Tty.
	Term string
}

// StreamExecer is a driver that can run a command in a running task with
// streams.
type StreamExecer interface {
	// ExecTaskStreaming runs a command with the task's environment, directory
	// and user, and returns when it has ended and its output is written. The end
	// of Stdin closes the command's stdin. When ctx or the task ends, the command
	// is killed with all its processes. Unknown tasks: ErrTaskNotFound.
	ExecTaskStreaming(ctx context.Context, id string, opts *ExecOptions) (*ExitResult, error)
}

// ErrExecNotSupported is returned for a driver that runs no commands in tasks.
var ErrExecNotSupported = errors.New("task driver does not support exec")

// ExecTask runs a command in a task of any driver. If ctx ends before the command,
// the error is the cause.
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
