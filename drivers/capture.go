package drivers

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// Captured is how many bytes of a command's output are kept, the last ones.
const Captured = 4096

// Execer is a driver that can run a command in a running task and capture its
// output, without being a StreamExecer. Whoever runs a command calls Capture.
type Execer interface {
	// ExecTask does what Capture says.
	ExecTask(ctx context.Context, id string, cmd []string) (*ExecTaskResult, error)
}

// ExecTaskResult is what a command in a task did.
type ExecTaskResult struct {
	Stdout []byte // its last bytes; also those of stderr where the driver mixes the two
	Stderr []byte
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
// task, without input, as script checks and change scripts need it, and returns
// when it has ended. A code other than 0 is no error, nor is it one when ctx
// ends first: then the command is killed, and the Err of the result says so.
// Errors: ErrTaskNotFound, ErrExecNotSupported, a command that is empty.
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
		captured := &ExecTaskResult{Stdout: output.bytes(), ExitResult: *result}
		if ctx.Err() != nil && captured.Err == nil {
			captured.Err = context.Cause(ctx)
		}
		return captured, nil
	default:
		return nil, ErrExecNotSupported
	}
}

// tail keeps the last bytes that are written. Two streams may share one.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) >= Captured {
		t.kept = append(t.kept[:0], p[len(p)-Captured:]...)
		return len(p), nil
	}
	if over := len(t.kept) + len(p) - Captured; over > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[over:])]
	}
	t.kept = append(t.kept, p...)
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}
