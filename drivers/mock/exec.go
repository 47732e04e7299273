package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"taskrun/drivers"
)

// ExecTask runs nothing. Its output is the call.
func (d *Driver) ExecTask(_ context.Context, id string, cmd []string) (*drivers.ExecTaskResult, error) {
	t, err := d.tasks.Running(id)
	if err != nil {
		return nil, err
	}
	said := fmt.Appendf(nil, "Exec(%q, %q)", t.Name, cmd)
	return &drivers.ExecTaskResult{Output: said[max(0, len(said)-drivers.Captured):]}, nil
}

// ExecTaskStreaming plays the task's exec_command, whatever the command is,
// except that "showinput" writes its input.
func (d *Driver) ExecTaskStreaming(ctx context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t, err := d.tasks.Running(id)
	if err != nil {
		return nil, err
	}
	if t.Exec == nil {
		return nil, errors.New("no exec command is configured")
	}
	ctx, cancel := t.Context(ctx) // the task takes the command with it
	defer cancel()
	c := *t.Exec
	if slices.Equal(opts.Command, []string{"showinput"}) {
		text, err := input(ctx, opts)
		if err != nil {
			return &killedResult, nil //nolint:nilerr // ctx has ended
		}
		c = command{StdoutString: text}
	}
	stderr := opts.Stderr
	if opts.Tty { // where the two are one
		stderr = opts.Stdout
	}
	result, killed := c.perform(unclosed{opts.Stdout}, unclosed{stderr}, ctx.Done(), 0)
	if killed {
		result = killedResult
	}
	return &result, nil
}

// input reads all of stdin and describes it.
func input(ctx context.Context, opts *drivers.ExecOptions) (string, error) {
	type outcome struct {
		text []byte
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		text, err := io.ReadAll(opts.Stdin)
		read <- outcome{text, err}
	}()
	select {
	case o := <-read:
		return fmt.Sprintf("TTY: %v\nStdin:\n%s\n", opts.Tty, o.text), o.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
