package docker

import (
	"context"
	"fmt"
	"strings"
	"sync"

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

// revivals counts how often the container that holds a network was restarted.
// Its lock is held during a restart.
type revivals struct {
	mu    sync.Mutex
	count int
}

func (d *Driver) revivalsOf(n *drivers.NetworkIsolation) *revivals {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.revived[n.ID] == nil {
		d.revived[n.ID] = &revivals{}
	}
	return d.revived[n.ID]
}

// sinceBegin returns the count, once no restart is under way.
func (r *revivals) sinceBegin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// revive restarts the container that holds a network if it has ended, as it
// does when the engine stops, and listens there again. It reports whether the
// network is another one than after the given number of restarts: all tasks of
// a group may start at once, and one of them revives it for the others.
func (d *Driver) revive(ctx context.Context, cli *client.Client, n *drivers.NetworkIsolation, before int) (bool, error) {
	r := d.revivalsOf(n)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count != before {
		return true, nil
	}
	info, err := cli.ContainerInspect(ctx, n.ID, client.ContainerInspectOptions{})
	if err != nil || info.Container.State == nil || info.Container.State.Running {
		return false, nil
	}
	if _, err := cli.ContainerStart(ctx, n.ID, client.ContainerStartOptions{}); err != nil {
		return false, nil
	}
	if err := d.listenAgain(ctx, n); err != nil {
		// The next task tries it again, as if the network had not been revived.
		_, _ = cli.ContainerKill(context.WithoutCancel(ctx), n.ID, client.ContainerKillOptions{Signal: "SIGKILL"})
		return false, err
	}
	r.count++
	return true, nil
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
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.revived, n.ID)
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
