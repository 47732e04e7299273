package docker

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// drain is how long the last output of a command may take to arrive.
const drain = time.Second

// ExecTaskStreaming runs a command in the container, with the environment,
// directory and user of the task. The engine does not end a command when its
// client disconnects, so command.end does.
func (d *Driver) ExecTaskStreaming(ctx context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t, err := d.tasks.Running(id)
	if err != nil {
		return nil, err
	}
	c := &command{task: t, mark: "TASKRUN_EXEC=" + rand.Text(), opts: opts, size: opts.FirstSize(ctx)}
	// A canceled request may start the command all the same, so the start is not
	// canceled.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), daemon.ReplyTime)
	defer cancel()
	env := []string{c.mark}
	if opts.Term != "" {
		env = append(env, "TERM="+opts.Term)
	}
	how := client.ExecCreateOptions{
		Cmd: opts.Command, TTY: opts.Tty, AttachStdin: true, AttachStdout: true, AttachStderr: true, Env: env,
	}
	if c.size != nil { // Podman ignores it
		how.ConsoleSize = client.ConsoleSize{Height: uint(c.size.Height), Width: uint(c.size.Width)}
	}
	made, err := t.cli.ExecCreate(starting, t.container, how)
	if err != nil {
		return nil, fmt.Errorf("cannot run a command in container %s: %w", daemon.ShortID(t.container), err)
	}
	c.id = made.ID
	return c.run(ctx, starting)
}

// sizeTime limits how long the input waits until the terminal has its size.
const sizeTime = 5 * time.Second

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
	sized := make(chan struct{})
	go c.resize(listening, sized)
	go func() { // ends with the input, or with the stream
		select {
		case <-sized:
		case <-time.After(sizeTime): // an engine that does not resize
		case <-listening.Done():
			return
		}
		c.send(&stream)
	}()
	copied := make(chan error, 1)
	go func() {
		var err error
		if c.opts.Tty {
			_, err = io.Copy(c, stream.Reader)
		} else {
			_, err = stdcopy.StdCopy(c, c.opts.Stderr, stream.Reader)
		}
		copied <- err
	}()

	for {
		select {
		case e := <-died.Messages:
			if e.Actor.Attributes["execID"] != c.id {
				continue
			}
			// Processes that the command left behind may hold the stream open.
			// They belong to the task, so do not wait for them.
			err := settle(copied, &stream)
			return c.result(ctx), err
		case err := <-copied:
			if ctx.Err() != nil {
				c.end()
			}
			return c.result(ctx), err
		case <-c.task.Done():
			return new(killed), settle(copied, &stream)
		case <-ctx.Done():
			c.end()
			stream.Close()
			<-copied //nolint:errcheck // it was cut off
			return new(killed), nil
		}
	}
}

// settle waits for the rest of the output, no longer than drain.
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
		_, _ = stream.Conn.Write([]byte{4}) // Ctrl-D: the end of the input
	default:
		_ = stream.CloseWrite()
	}
}

// resize sets the size of the terminal whenever the user's changes. It retries,
// because the engine refuses until the command is running, and repeats each size,
// because Podman loses one that comes right after another; on a busy machine that is
// a while. It closes sized when the command can know the first size, so that input
// which asks for it can be sent.
func (c *command) resize(ctx context.Context, sized chan<- struct{}) {
	const pause = 20 * time.Millisecond
	repeats := [...]time.Duration{100 * time.Millisecond, time.Second}
	known := sync.OnceFunc(func() { close(sized) })
	size, repeated := c.size, 0
	for {
		var again <-chan time.Time
		if size == nil {
			known()
		} else if _, err := c.task.cli.ExecResize(ctx, c.id, client.ExecResizeOptions{Height: uint(size.Height), Width: uint(size.Width)}); err != nil {
			again = time.After(pause)
		} else if known(); repeated < len(repeats) {
			again = time.After(repeats[repeated])
			repeated++
		}
		select {
		case next := <-c.opts.Resize:
			size, repeated = &next, 0
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}
