package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/moby/moby/client"
)

// newMark returns a variable that no other command has.
func newMark() string {
	b := make([]byte, 8)
	rand.Read(b)
	return "TASKRUN_EXEC=" + hex.EncodeToString(b)
}

// killScript kills, in a container, every process that has the mark $0 in its
// environment. It uses nothing but the shell.
const killScript = `for p in /proc/[0-9]*; do
	{ while IFS= read -r e || [ -n "$e" ]; do
		case $e in *"$0"*) kill -9 "${p#/proc/}"; break;; esac
	done <"$p/environ"; } 2>/dev/null
done
:`

// killPatience is how long the end of a command that is killed may take.
const killPatience = 5 * time.Second

// kill kills the command with all that it started. The engine has no means for
// that: a shell in the container does it, or, where the image has none, this
// program, if the command is a process that it can see and may kill.
func (c *command) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if c.killInside(ctx) != nil {
		_ = c.killOutside(ctx) // then it ends with its task
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
// on another kernel, so the process must show the mark.
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
