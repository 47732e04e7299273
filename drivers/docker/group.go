package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

var _ drivers.NetworkManager = (*Driver)(nil)

// groupInterface is the engine's name of a container's interface.
const groupInterface = "eth0"

// CreateNetwork creates the network of a group: that of a container that does
// nothing. The containers of the tasks join it. An existing network is reused.
func (d *Driver) CreateNetwork(ctx context.Context, req *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	cli, err := d.connect()
	if err != nil {
		return nil, err
	}
	sockets, err := d.makeSockets(ctx, req)
	if err != nil {
		return nil, err
	}
	name := settings.GroupName(req.AllocID)
	if info, err := cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{}); err == nil {
		if info.Container.State.Running {
			d.adopt(info.Container.Config.Labels[daemon.LabelRun])
			return d.isolation(req, sockets, info.Container), nil
		}
		if err := daemon.Remove(ctx, cli, name); err != nil {
			return nil, err
		}
	}
	image, program, err := d.images.Pause(ctx, cli, req.AllocID)
	if err != nil {
		return nil, err
	}
	opts, err := d.builder.Group(req, sockets)
	if err != nil {
		return nil, err
	}
	opts.Config.Image, opts.Config.Entrypoint = image, program
	d.publish(ctx, opts.HostConfig)
	d.use()
	if shared := settings.NetworkName(req); shared != "" {
		d.networking.Lock()
		defer d.networking.Unlock()
		run, err := daemon.MakeNetwork(ctx, cli, shared, d.config.Run, settings.RunDir(req))
		if err != nil {
			return nil, err
		}
		d.adopt(run)
	}
	made, err := cli.ContainerCreate(ctx, opts)
	if err != nil {
		return nil, daemon.Error("cannot make the network of the group", err)
	}
	if _, err = cli.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err == nil {
		var info client.ContainerInspectResult
		if info, err = cli.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{}); err == nil {
			return d.isolation(req, sockets, info.Container), nil
		}
	}
	_ = daemon.Remove(context.WithoutCancel(ctx), cli, made.ID) // the first error counts
	return nil, daemon.Error("cannot make the network of the group", err)
}

// isolation describes the network of a container.
func (d *Driver) isolation(req *drivers.NetworkRequest, sockets string, info container.InspectResponse) *drivers.NetworkIsolation {
	n := &drivers.NetworkIsolation{Driver: d.front.Name, ID: info.ID, Hostname: info.Config.Hostname, Sockets: sockets}
	for _, e := range info.NetworkSettings.Networks { // one, whose name depends on the engine
		if e != nil && req.Mode == "bridge" && e.IPAddress.IsValid() {
			n.Interface, n.IP, n.Gateway = groupInterface, e.IPAddress.String(), e.Gateway.String()
		}
	}
	return n
}

// revive restarts the container that holds a network if it has ended, as it
// does when the engine stops, and reports whether it did.
func revive(ctx context.Context, cli *client.Client, n *drivers.NetworkIsolation) bool {
	info, err := cli.ContainerInspect(ctx, n.ID, client.ContainerInspectOptions{})
	if err != nil || info.Container.State == nil || info.Container.State.Running {
		return false
	}
	_, err = cli.ContainerStart(ctx, n.ID, client.ContainerStartOptions{})
	return err == nil
}

// DestroyNetwork removes the container that holds a network.
func (d *Driver) DestroyNetwork(ctx context.Context, n *drivers.NetworkIsolation) error {
	cli, err := d.connect()
	if err != nil {
		return err
	}
	if err := d.remove(ctx, cli, n.ID); err != nil {
		return fmt.Errorf("cannot remove the network of the group: %w", err)
	}
	return nil
}

// remove removes a container, and the network that it shared if it was the last
// one there.
func (d *Driver) remove(ctx context.Context, cli *client.Client, id string) error {
	shared := ""
	if info, err := cli.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); err == nil && info.Container.NetworkSettings != nil {
		for name := range info.Container.NetworkSettings.Networks {
			if strings.HasPrefix(name, settings.NetworkPrefix) {
				shared = name
			}
		}
	}
	if shared == "" {
		return daemon.Remove(ctx, cli, id)
	}
	d.networking.Lock()
	defer d.networking.Unlock()
	err := daemon.Remove(ctx, cli, id)
	_ = daemon.RemoveUnused(ctx, cli, shared) // the end of the run does so as well
	return err
}
