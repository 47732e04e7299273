package docker

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

var _ drivers.StreamExecer = (*Driver)(nil)

// drain is how long what a command wrote before its end may take to arrive.
const drain = 200 * time.Millisecond

// killedCode is the exit code of what was killed with SIGKILL.
const killedCode = 128 + 9

// command is a command that runs in a container.
type command struct {
	task *task
	id   string // of the engine's exec
	mark string // in its environment: what it starts has it too
	opts *drivers.ExecOptions
}

// ExecTaskStreaming runs a command in the container, with the environment,
// directory and user of the task. The engine does not end a command when its
// client goes; so it is looked for in the container and killed.
func (d *Driver) ExecTaskStreaming(ctx context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	if !t.running() {
		return nil, fmt.Errorf("task %q is not running", t.name)
	}
	c := &command{task: t, mark: newMark(), opts: opts}
	// A start that is cut short may happen all the same: it is seen through.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTime)
	defer cancel()
	env := []string{c.mark}
	if opts.Term != "" {
		env = append(env, "TERM="+opts.Term)
	}
	made, err := t.cli.ExecCreate(starting, t.container, client.ExecCreateOptions{
		Cmd: opts.Command, TTY: opts.Tty, AttachStdin: true, AttachStdout: true, AttachStderr: true, Env: env,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot run a command in container %s: %w", shortID(t.container), err)
	}
	c.id = made.ID
	return c.run(ctx, starting)
}

func (c *command) run(ctx, starting context.Context) (*drivers.ExitResult, error) {
	cli := c.task.cli
	listening, stop := context.WithCancel(ctx)
	defer stop()
	died := cli.Events(listening, client.EventsListOptions{
		Filters: client.Filters{}.Add("container", c.task.container).Add("event", string(events.ActionExecDie)),
	})
	stream, err := cli.ExecAttach(starting, c.id, client.ExecAttachOptions{TTY: c.opts.Tty})
	if err != nil {
		return nil, fmt.Errorf("failed to start command: %w", err)
	}
	defer stream.Close()
	go c.send(&stream) // ends with the input, or with the stream
	if c.opts.Resize != nil {
		go c.resize(listening)
	}
	copied := make(chan error, 1)
	go func() {
		var err error
		if c.opts.Tty {
			_, err = io.Copy(c.opts.Stdout, stream.Reader)
		} else {
			_, err = stdcopy.StdCopy(c.opts.Stdout, c.opts.Stderr, stream.Reader)
		}
		copied <- err
	}()

	for {
		select {
		case e := <-died.Messages:
			if e.Actor.Attributes["execID"] != c.id {
				continue
			}
			// What the command has left behind may hold the stream open; it is
			// the task's, and nobody waits for it.
			err := settle(copied, &stream)
			return c.result(ctx), err
		case err := <-copied:
			if ctx.Err() != nil {
				c.kill()
			}
			return c.result(ctx), err
		case <-c.task.exit.Done():
			return &drivers.ExitResult{ExitCode: killedCode, Signal: 9}, settle(copied, &stream)
		case <-ctx.Done():
			c.kill()
			stream.Close()
			<-copied //nolint:errcheck // it was cut off
			return &drivers.ExitResult{ExitCode: killedCode, Signal: 9}, nil
		}
	}
}

// settle waits for the rest of the output, but not for long.
func settle(copied <-chan error, stream *client.ExecAttachResult) error {
	select {
	case err := <-copied:
		return err
	case <-time.After(drain):
		stream.Close()
		<-copied //nolint:errcheck // it was cut off
		return nil
	}
}

// send copies the input to the command.
func (c *command) send(stream *client.ExecAttachResult) {
	_, err := io.Copy(stream.Conn, c.opts.Stdin)
	switch {
	case err != nil:
	case c.opts.Tty:
		_, _ = stream.Conn.Write([]byte{4}) // what Ctrl-D sends: the end of the input
	default:
		_ = stream.CloseWrite()
	}
}

// resize sets the size of the terminal whenever the user's changes. The engine
// refuses until the command runs.
func (c *command) resize(ctx context.Context) {
	const pause = 20 * time.Millisecond
	var size api.TerminalSize
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	for {
		select {
		case size = <-c.opts.Resize:
		case <-retry.C:
		case <-ctx.Done():
			return
		}
		_, err := c.task.cli.ExecResize(ctx, c.id, client.ExecResizeOptions{Height: uint(size.Height), Width: uint(size.Width)})
		if err != nil {
			retry.Reset(pause)
		}
	}
}

// result asks the engine how the command ended; it may not know at once.
func (c *command) result(ctx context.Context) *drivers.ExitResult {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTime)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		info, err := c.task.cli.ExecInspect(ctx, c.id, client.ExecInspectOptions{})
		switch {
		case err != nil && !c.task.running():
			return &drivers.ExitResult{ExitCode: killedCode, Signal: 9} // with its container
		case err != nil:
			return &drivers.ExitResult{ExitCode: codeUnknown, Err: err}
		case !info.Running:
			return &drivers.ExitResult{ExitCode: info.ExitCode}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return &drivers.ExitResult{ExitCode: codeUnknown, Err: context.Cause(ctx)}
		}
	}
}
