package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/eventer"
	"taskrun/drivers/taskstore"
)

// codeUnknown is the exit code of a container whose exit code is unknown.
const codeUnknown = -1

// killTime is how long a container may take to end after SIGKILL.
const killTime = 15 * time.Second

// task is the container of one start of a task.
type task struct {
	*taskstore.Life
	cli       *client.Client
	front     *Front
	events    *eventer.Eventer
	absence   time.Duration // see Config
	cfg       *drivers.TaskConfig
	container string // ID
	started   bool
	network   *drivers.Network
	tty       bool
	mute      bool // its output is not collected
	output    *output

	lastSample atomic.Pointer[container.StatsResponse]

	watching sync.WaitGroup
	interest context.Context // ends when the task is removed
	forget   context.CancelFunc
}

// signal sends a signal to the container; "" is SIGINT.
func (t *task) signal(ctx context.Context, signal string) error {
	signal = cmp.Or(signal, "SIGINT")
	_, err := t.cli.ContainerKill(ctx, t.container, client.ContainerKillOptions{Signal: signal})
	if err != nil {
		return fmt.Errorf("cannot send %s to container %s: %w", signal, daemon.ShortID(t.container), err)
	}
	return nil
}

// signalPause is the pause after a signal that the engine has not sent.
const signalPause = 500 * time.Millisecond

// stop sends a signal, waits for the end of the container, and then kills it. A
// signal that the engine does not send, because it is busy or away, is tried again
// until the timeout has passed.
func (t *task) stop(ctx context.Context, timeout time.Duration, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for told := false; ctx.Err() == nil && !t.Ended(); told = true {
		err := t.interrupt(ctx, signal)
		if err == nil {
			t.Await(ctx, timeout)
			break
		}
		if daemon.HasEnded(err) {
			break
		}
		if !told {
			t.events.Tell(t.cfg, drivers.TaskEvent{Message: fmt.Sprintf("The %s engine has not sent the signal, trying again", t.front.Engine), Err: err})
		}
		t.Await(ctx, signalPause)
	}
	return t.kill()
}

// interrupt sends a signal to the container; "" is the stop signal of its image,
// or SIGTERM.
func (t *task) interrupt(ctx context.Context, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, daemon.ReplyTime)
	defer cancel()
	if signal == "" {
		signal = "SIGTERM"
		info, err := daemon.Inspect(ctx, t.cli, t.container)
		if err != nil {
			return fmt.Errorf("cannot inspect container %s: %w", daemon.ShortID(t.container), err)
		}
		if config := info.Config; config != nil && config.StopSignal != "" {
			signal = config.StopSignal
		}
	}
	return t.signal(ctx, signal)
}

// kill kills the container and waits for its end.
func (t *task) kill() error {
	if t.Ended() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	if err := t.signal(ctx, "SIGKILL"); err != nil && !daemon.HasEnded(err) {
		return err
	}
	if !t.Await(ctx, killTime) {
		return fmt.Errorf("container %s did not end after %v", daemon.ShortID(t.container), killTime)
	}
	return nil
}

// remove removes the container, and returns when its watcher has ended.
func (t *task) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	err := daemon.Remove(ctx, t.cli, t.container)
	if err == nil && t.started { // the watcher sets it
		t.Await(ctx, killTime)
	}
	t.forget()
	t.watching.Wait()
	if t.output != nil {
		t.output.close(0)
	}
	t.Set(drivers.ExitResult{ExitCode: codeUnknown, Err: errors.New("the container was removed")}, time.Now())
	return err
}

func (t *task) inspect() (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(t.interest, daemon.ReplyTime)
	defer cancel()
	return daemon.Inspect(ctx, t.cli, t.container)
}
