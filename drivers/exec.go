package drivers

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

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

// firstSizeTime is how long a client with a terminal may take to send its size.
const firstSizeTime = 50 * time.Millisecond

// FirstSize waits a moment for the first size of the terminal, so that a command
// that reads the size at once gets the right one. It returns nil without Resize, or
// if no size comes in time.
func (o *ExecOptions) FirstSize(ctx context.Context) *api.TerminalSize {
	if o.Resize == nil {
		return nil
	}
	select {
	case size := <-o.Resize:
		return &size
	case <-time.After(firstSizeTime):
	case <-ctx.Done():
	}
	return nil
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

// Captured is how many bytes of a command's output Capture keeps: the last
// ones.
const Captured = 4096

// Execer is a driver with its own way to run a command in a running task and
// capture the output. Callers use Capture.
type Execer interface {
	// ExecTask is called by Capture.
	ExecTask(ctx context.Context, id string, cmd []string) (*ExecTaskResult, error)
}

// ExecTaskResult is the result of a command in a task.
type ExecTaskResult struct {
	Output []byte // the last bytes of stdout and stderr
	ExitResult
}

// CanCapture reports whether Capture works with a driver.
func CanCapture(d Driver) bool {
	switch d.(type) {
	case Execer, StreamExecer:
		return true
	}
	return false
}

// Capture runs a command with the environment, directory and user of a running
// task, without input, and returns when it has ended. Script checks and change
// scripts use it. An exit code other than 0 is no error. If ctx ends first, the
// command is killed, and the result has an Err. Errors: ErrTaskNotFound,
// ErrExecNotSupported, an empty command.
func Capture(ctx context.Context, d Driver, id string, cmd []string) (*ExecTaskResult, error) {
	if len(cmd) == 0 {
		return nil, errors.New("command is not present")
	}
	switch d := d.(type) {
	case Execer:
		return d.ExecTask(ctx, id, cmd)
	case StreamExecer:
		output := &tail{}
		result, err := d.ExecTaskStreaming(ctx, id, &ExecOptions{
			Command: cmd, Stdin: strings.NewReader(""), Stdout: output, Stderr: output,
		})
		if err != nil {
			return nil, err
		}
		captured := &ExecTaskResult{Output: output.bytes(), ExitResult: *result}
		if ctx.Err() != nil && captured.Err == nil {
			captured.Err = context.Cause(ctx)
		}
		return captured, nil
	default:
		return nil, ErrExecNotSupported
	}
}

// tail keeps the last bytes of a stream, or of two that share it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = slices.Delete(t.kept, 0, max(0, len(t.kept)-Captured))
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}
