package docker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// StartTask starts a container. The network is nil unless the container has its
// own address.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	t, err := d.tasks.Start(cfg.ID, func() (*task, error) { return d.start(ctx, cfg) })
	if err != nil {
		return nil, nil, err
	}
	return t.handle(), t.network, nil
}

// start starts the container of a task. On error nothing is left behind.
func (d *Driver) start(ctx context.Context, cfg *drivers.TaskConfig) (*task, error) {
	cli, err := d.connect()
	if err != nil {
		return nil, err
	}
	c, err := d.front.Decode(&d.options, cfg)
	if err != nil {
		return nil, err
	}
	if c.Archive != "" && d.builder.HostPath != nil {
		if c.Archive, err = d.builder.HostPath(c.Archive); err != nil {
			return nil, err
		}
	}
	if c.Joins(cfg) {
		if err := shareName(ctx, cli, cfg, c); err != nil {
			return nil, err
		}
	}
	if err := d.images.Provide(ctx, cli, cfg, c); err != nil {
		return nil, err
	}
	opts, err := d.builder.Container(cfg, c)
	if err != nil {
		info, _ := cli.ImageInspect(ctx, c.Image)                                                                       // without an answer the ID is empty
		return nil, fmt.Errorf("Failed to create container configuration for image %q (%q): %w", c.Image, info.ID, err) //nolint:staticcheck // Nomad's words
	}
	d.publish(ctx, opts.HostConfig)
	id, err := d.create(ctx, cli, c, opts)
	if err != nil {
		return nil, err
	}
	t := d.newTask(cli, cfg, id)
	t.tty, t.mute = c.TTY, d.options.Mute(opts.HostConfig.LogConfig)
	if err := d.launch(ctx, t, c); err != nil {
		_ = t.remove() // the first error counts
		return nil, err
	}
	return t, nil
}

// shareName gives the container of a task the hostname of the group whose network it
// joins. That of Docker includes the hostname, and Docker refuses another one.
func shareName(ctx context.Context, cli *client.Client, cfg *drivers.TaskConfig, c *settings.Config) error {
	version, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return daemon.Error("cannot ask the engine for its version", err)
	}
	if daemon.IsPodman(version) {
		c.KeepHostname, c.Hostname = true, cmp.Or(cfg.Network.Hostname, c.Hostname)
	}
	return nil
}

// create creates the container of a task without starting it.
func (d *Driver) create(ctx context.Context, cli *client.Client, c *settings.Config, opts client.ContainerCreateOptions) (string, error) {
	if err := checkMAC(ctx, cli, c); err != nil {
		return "", err
	}
	d.use()
	pause := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		made, err := cli.ContainerCreate(ctx, opts)
		switch {
		case err == nil:
			return made.ID, nil
		case !daemon.NameIsTaken(err) || attempt > c.ContainerExistsAttempts:
			return "", daemon.Error("failed to create container", err)
		}
		// The name contains the allocation's ID, so the other container is left
		// over from an earlier start.
		if err := daemon.Remove(ctx, cli, opts.Name); err != nil {
			return "", daemon.Error("Failed to purge container "+opts.Name, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		pause *= 2
	}
}

// macAPI is the first version of the engine's API with the MAC address of an
// endpoint. Older ones ignore it.
const macAPI = "1.44"

// checkMAC returns an error if the engine would ignore mac_address.
func checkMAC(ctx context.Context, cli *client.Client, c *settings.Config) error {
	if c.MACAddress == "" {
		return nil
	}
	if _, err := cli.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return daemon.Error("cannot ask the engine for its version", err)
	}
	if v := cli.ClientVersion(); versions.LessThan(v, macAPI) {
		return fmt.Errorf("mac_address needs Docker 25 or later: the engine speaks version %s of the API, not %s", v, macAPI)
	}
	return nil
}

// launch starts the container and watches it.
func (d *Driver) launch(ctx context.Context, t *task, c *settings.Config) (err error) {
	if t.output, err = openOutput(t.cfg, false); err != nil {
		return err
	}
	if !t.mute {
		if err := t.attach(ctx); err != nil {
			// Podman prepares the container here. The client hides why that
			// failed, but the start fails for the same reason.
			if _, failed := t.cli.ContainerStart(ctx, t.container, client.ContainerStartOptions{}); failed != nil {
				return startError(t.container, failed)
			}
			return daemon.Error("cannot attach to container "+daemon.ShortID(t.container), err)
		}
	}
	// Waiting starts before the container, so that its end cannot be missed.
	wait := t.cli.ContainerWait(t.interest, t.container, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	t.StartedAt = time.Now() // it may end before the response arrives
	t.watching.Go(func() { t.watch(wait) })
	if err := d.begin(ctx, t, c.Joins(t.cfg)); err != nil {
		return err
	}
	t.started = true
	info, err := daemon.Inspect(ctx, t.cli, t.container)
	if err != nil && !errdefs.IsNotFound(err) { // it may have ended and been removed
		return daemon.Error("cannot inspect container "+daemon.ShortID(t.container), err)
	}
	t.network = c.NetworkOf(t.cfg, info)
	return nil
}

// begin starts the container, a second time if the network that it joins had to
// be revived.
func (d *Driver) begin(ctx context.Context, t *task, joins bool) error {
	revivals := 0
	if joins {
		revivals = d.revivalsOf(t.cfg.Network).sinceBegin()
	}
	_, err := t.cli.ContainerStart(ctx, t.container, client.ContainerStartOptions{})
	if err != nil && joins {
		revived, failed := d.revive(ctx, t.cli, t.cfg.Network, revivals)
		if failed != nil {
			return drivers.Recoverable(failed)
		}
		if revived {
			_, err = t.cli.ContainerStart(ctx, t.container, client.ContainerStartOptions{})
		}
	}
	if err != nil {
		return startError(t.container, err)
	}
	return nil
}

// startError returns the error of a container that did not start. It is
// recoverable if the engine is the cause, such as a port in use or the state of
// another container, and not if the container itself is.
func startError(id string, err error) error {
	wrapped := fmt.Errorf("Failed to start container %s: %w", id, err) //nolint:staticcheck // Nomad's words
	if daemon.Unreachable(err) || errdefs.IsConflict(err) || errdefs.IsInternal(err) && !errdefs.IsNotFound(err) {
		return drivers.Recoverable(wrapped)
	}
	return wrapped
}
