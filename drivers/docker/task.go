package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

// killTime is how long a container may take to end after SIGKILL.
const killTime = 15 * time.Second

// task is one container that was started.
type task struct {
	driver    *Driver
	cli       *client.Client
	cfg       *drivers.TaskConfig
	name      string
	container string    // ID
	startedAt time.Time // or just before
	started   bool
	network   *drivers.Network
	tty       bool
	mute      bool // its output is not collected
	exit      *taskstore.Exit
	output    *output

	lastSample atomic.Pointer[container.StatsResponse]

	watching sync.WaitGroup
	interest context.Context // ends when nobody wants to know of the task any more
	forget   context.CancelFunc
}

// start starts the container of a task. Nothing is left behind when it fails.
func (d *Driver) start(ctx context.Context, cfg *drivers.TaskConfig) (*task, error) {
	c, err := d.options.decodeConfig(cfg.Config)
	if err != nil {
		return nil, err
	}
	cli, err := d.connect()
	if err != nil {
		return nil, err
	}
	if err := d.images.provide(ctx, cli, cfg, c); err != nil {
		return nil, err
	}
	id, err := d.create(ctx, cli, cfg, c)
	if err != nil {
		return nil, err
	}
	t := newTask(d, cli, cfg, id)
	t.tty = c.TTY
	t.mute = d.options.DisableLogCollection || mute(logConfig(c.Logging, d.options.logging()))
	if err := t.launch(ctx, c); err != nil {
		_ = t.remove() // what failed before is the news
		return nil, err
	}
	return t, nil
}

// launch starts the container and watches it.
func (t *task) launch(ctx context.Context, c *taskConfig) (err error) {
	if t.output, err = openOutput(t.cfg, false); err != nil {
		return err
	}
	if !t.mute {
		if err := t.attach(ctx); err != nil {
			return engineError("cannot attach to container "+shortID(t.container), err)
		}
	}
	// It is waited for before it starts, so that no end is missed.
	wait := t.cli.ContainerWait(t.interest, t.container, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	t.startedAt = time.Now() // it may end before the engine says that it has started
	t.watching.Go(func() { t.watch(wait) })
	_, err = t.cli.ContainerStart(ctx, t.container, client.ContainerStartOptions{})
	if err != nil && c.joins(t.cfg) && revive(ctx, t.cli, t.cfg.Network) {
		_, err = t.cli.ContainerStart(ctx, t.container, client.ContainerStartOptions{})
	}
	if err != nil {
		return startError(t.container, err)
	}
	t.started = true
	info, err := t.cli.ContainerInspect(ctx, t.container, client.ContainerInspectOptions{})
	if err != nil && !errdefs.IsNotFound(err) { // it may have ended, and somebody removed it
		return engineError("cannot inspect container "+shortID(t.container), err)
	}
	t.network = c.networkOf(t.cfg, info.Container)
	return nil
}

func newTask(d *Driver, cli *client.Client, cfg *drivers.TaskConfig, id string) *task {
	t := &task{driver: d, cli: cli, cfg: cfg, name: cfg.Name, container: id, exit: taskstore.NewExit()}
	t.interest, t.forget = context.WithCancel(context.Background())
	return t
}

// startError is the error of a container that did not start. What is wrong in
// the engine, such as a port in use or the state of another container, may be
// right at the next try; what is wrong with the container will not.
func startError(id string, err error) error {
	wrapped := fmt.Errorf("Failed to start container %s: %w", id, err) //nolint:staticcheck // Nomad's words
	if unreachable(err) || errdefs.IsConflict(err) || errdefs.IsInternal(err) && !errdefs.IsNotFound(err) {
		return drivers.Recoverable(wrapped)
	}
	return wrapped
}

func (t *task) running() bool { return !t.exit.Ended() }

// signal sends a signal by name; "" is SIGINT.
func (t *task) signal(ctx context.Context, signal string) error {
	if signal == "" {
		signal = "SIGINT"
	}
	_, err := t.cli.ContainerKill(ctx, t.container, client.ContainerKillOptions{Signal: signal})
	if err != nil {
		return fmt.Errorf("cannot send %s to container %s: %w", signal, shortID(t.container), err)
	}
	return nil
}

// stop sends the signal, waits, and then kills.
func (t *task) stop(ctx context.Context, timeout time.Duration, signal string) error {
	if !t.running() {
		return nil
	}
	if timeout > 0 {
		begin := time.Now()
		err := t.interrupt(context.WithoutCancel(ctx), signal)
		switch {
		case err == nil:
			t.exit.Await(ctx, timeout-time.Since(begin))
		case !errdefs.IsConflict(err) && !errdefs.IsNotFound(err): // those have ended meanwhile
			return err
		}
	}
	return t.kill()
}

// interrupt asks the container to end, by its own signal if none is given.
func (t *task) interrupt(ctx context.Context, signal string) error {
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	if signal == "" {
		signal = "SIGTERM"
		info, err := t.cli.ContainerInspect(ctx, t.container, client.ContainerInspectOptions{})
		if err != nil {
			return fmt.Errorf("cannot inspect container %s: %w", shortID(t.container), err)
		}
		if config := info.Container.Config; config != nil && config.StopSignal != "" {
			signal = config.StopSignal
		}
	}
	return t.signal(ctx, signal)
}

// kill kills the container and waits for its end.
func (t *task) kill() error {
	if !t.running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	if err := t.signal(ctx, "SIGKILL"); err != nil && !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) {
		return err
	}
	if !t.exit.Await(ctx, killTime) {
		return fmt.Errorf("container %s did not end after %v", shortID(t.container), killTime)
	}
	return nil
}

// remove removes the container, and returns when nothing watches it any more.
func (t *task) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	err := removeContainer(ctx, t.cli, t.container)
	if err == nil && t.started { // the watcher tells of the end
		t.exit.Await(ctx, killTime)
	}
	t.forget()
	t.watching.Wait()
	if t.output != nil {
		t.output.close(0)
	}
	t.exit.Set(drivers.ExitResult{ExitCode: codeUnknown, Err: errors.New("the container was removed")}, time.Now())
	return err
}
