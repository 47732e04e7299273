package docker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// killed is the result of a command that was killed with SIGKILL.
var killed = drivers.ExitResult{ExitCode: 128 + 9, Signal: 9}

// command is a command that runs in a container.
type command struct {
	task *task
	id   string // of the engine's exec
	mark string // a variable that only its processes have
	opts *drivers.ExecOptions
	size *api.TerminalSize // the first one, if there is one
	head []byte            // of stdout
}

// headLength is enough for an error of the engine, in bytes.
const headLength = 4096

// Write writes to stdout.
func (c *command) Write(p []byte) (int, error) {
	c.head = append(c.head, p[:min(len(p), headLength-len(c.head))]...)
	return c.opts.Stdout.Write(p)
}

// killScript kills, in a container, every process with the mark $0 in its
// environment. It looks again until it finds none, since a process that is just
// executing a program shows no environment. It uses nothing but the shell.
const killScript = `for pass in 1 2 3 4 5 6 7 8; do
	found=
	for p in /proc/[0-9]*; do
		{ while IFS= read -r e || [ -n "$e" ]; do
			case $e in *"$0"*) found=1; kill -9 "${p#/proc/}"; break;; esac
		done <"$p/environ"; } 2>/dev/null
	done
	[ "$found" ] || break
done
:`

// killPatience is how long it may take to kill a command.
const killPatience = 5 * time.Second

// end kills the command and all its descendants. The engine cannot do that, so a
// shell in the container does. If the image has no shell, this program kills the
// command if it can see its process and has the rights.
func (c *command) end() {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if c.killInside(ctx) != nil {
		_ = c.killOutside(ctx) // otherwise the command ends with its task
	}
}

func (c *command) killInside(ctx context.Context) error {
	cli := c.task.cli
	made, err := cli.ExecCreate(ctx, c.task.container, client.ExecCreateOptions{
		User: "0", Cmd: []string{"/bin/sh", "-c", killScript, c.mark}, AttachStdout: true,
	})
	if err != nil {
		return err
	}
	stream, err := cli.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, stream.Close)()
	_, _ = stream.Reader.WriteTo(io.Discard) // until it has ended
	killer := command{task: c.task, id: made.ID}
	if r := killer.result(ctx); r.ExitCode != 0 || r.Err != nil {
		return fmt.Errorf("the shell ended with code %d: %w", r.ExitCode, r.Err)
	}
	return nil
}

// killOutside kills the command's process from this machine. The engine may run
// on another kernel, so the process must have the mark.
func (c *command) killOutside(ctx context.Context) error {
	info, err := c.task.cli.ExecInspect(ctx, c.id, client.ExecInspectOptions{})
	if err != nil || !info.Running || info.PID <= 0 {
		return err
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", info.PID))
	if err != nil || !bytes.Contains(env, []byte(c.mark)) {
		return err
	}
	process, err := os.FindProcess(info.PID)
	if err != nil {
		return err
	}
	return process.Kill()
}

// notFound is the exit code of a command that does not exist, as in a shell.
const notFound = 127

// missing reports whether the output of a command is the engine's error for one
// that does not exist. Before version 23 its exit code is 126.
func missing(output []byte) bool {
	return bytes.HasPrefix(output, []byte("OCI runtime exec failed: ")) && bytes.Contains(output, []byte(`: exec: "`)) &&
		(bytes.Contains(output, []byte("executable file not found")) || bytes.Contains(output, []byte("no such file or directory")))
}

// result asks the engine how the command ended, until it knows.
func (c *command) result(ctx context.Context) *drivers.ExitResult {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), daemon.ReplyTime)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		info, err := c.task.cli.ExecInspect(ctx, c.id, client.ExecInspectOptions{})
		switch {
		case err != nil && c.task.Ended():
			return new(killed) // killed with its container
		case err != nil:
			return &drivers.ExitResult{ExitCode: codeUnknown, Err: err}
		case info.Running:
		case info.ExitCode == 126 && missing(c.head):
			return &drivers.ExitResult{ExitCode: notFound}
		default:
			return &drivers.ExitResult{ExitCode: info.ExitCode}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return &drivers.ExitResult{ExitCode: codeUnknown, Err: context.Cause(ctx)}
		}
	}
}
