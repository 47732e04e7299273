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
	"taskrun/drivers/docker/image"
	"taskrun/drivers/docker/settings"
)

// groupInterface is the engine's name of a container's interface.
const groupInterface = "eth0"

// networks are the networks of groups: each is that of a container that does
// nothing, which the containers of the tasks join.
type networks struct {
	engine  *engine
	machine *machine
	images  *image.Store
	builder *settings.Builder

	listeners sync.Map // in networks: *insideListener → nil

	mu      sync.Mutex
	revived map[string]*revivals // by container

	changing sync.Mutex // held while a group enters or leaves a shared network
}

// revivals counts how often the container that holds a network was restarted.
// Its lock is held during a restart.
type revivals struct {
	mu    sync.Mutex
	count int
}

// sinceBegin returns the count, once no restart is under way.
func (r *revivals) sinceBegin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// CreateNetwork creates the network of a group. An existing one is reused.
func (n *networks) CreateNetwork(ctx context.Context, req *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	cli, err := n.engine.connect()
	if err != nil {
		return nil, err
	}
	sockets, err := n.sockets(ctx, req)
	if err != nil {
		return nil, err
	}
	name := settings.GroupName(req.AllocID)
	if info, err := daemon.Inspect(ctx, cli, name); err == nil {
		if info.State.Running {
			n.engine.adopt(info.Config.Labels[daemon.LabelRun])
			return n.isolation(req, sockets, info), nil
		}
		if err := daemon.Remove(ctx, cli, name); err != nil {
			return nil, err
		}
	}
	image, program, err := n.images.Pause(ctx, cli, req.AllocID)
	if err != nil {
		return nil, err
	}
	opts, err := n.builder.Group(req, sockets)
	if err != nil {
		return nil, err
	}
	opts.Config.Image, opts.Config.Entrypoint = image, program
	n.machine.publish(ctx, opts.HostConfig)
	n.engine.use()
	if shared := settings.NetworkName(req); shared != "" {
		n.changing.Lock()
		defer n.changing.Unlock()
		run, err := daemon.MakeNetwork(ctx, cli, shared, n.engine.run, settings.RunDir(req))
		if err != nil {
			return nil, err
		}
		n.engine.adopt(run)
	}
	made, err := cli.ContainerCreate(ctx, opts)
	if err != nil {
		return nil, daemon.Error("cannot make the network of the group", err)
	}
	if _, err = cli.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err == nil {
		var info container.InspectResponse
		if info, err = daemon.Inspect(ctx, cli, made.ID); err == nil {
			return n.isolation(req, sockets, info), nil
		}
	}
	_ = daemon.Remove(context.WithoutCancel(ctx), cli, made.ID) // the first error counts
	return nil, daemon.Error("cannot make the network of the group", err)
}

// isolation describes the network of a container.
func (n *networks) isolation(req *drivers.NetworkRequest, sockets string, info container.InspectResponse) *drivers.NetworkIsolation {
	out := &drivers.NetworkIsolation{Driver: n.engine.front.Name, ID: info.ID, Hostname: info.Config.Hostname, Sockets: sockets}
	for _, e := range info.NetworkSettings.Networks { // one, whose name depends on the engine
		if e != nil && req.Mode == "bridge" && e.IPAddress.IsValid() {
			out.Interface, out.IP, out.Gateway = groupInterface, e.IPAddress.String(), e.Gateway.String()
		}
	}
	return out
}

// sockets returns the directory in which the container that holds a network hands
// out sockets. It is "" if the network has no address, the container runs another
// program, or a virtual machine is between.
func (n *networks) sockets(ctx context.Context, req *drivers.NetworkRequest) (string, error) {
	if m, _ := n.machine.Machine(ctx); req.Mode != "bridge" || n.builder.Options.InfraImage != "" || m.Address == machineName {
		return "", nil
	}
	return makeSockets(req.AllocDir)
}

// DestroyNetwork removes the container that holds a network.
func (n *networks) DestroyNetwork(ctx context.Context, network *drivers.NetworkIsolation) error {
	cli, err := n.engine.connect()
	if err != nil {
		return err
	}
	if err := n.remove(ctx, cli, network.ID); err != nil {
		return fmt.Errorf("cannot remove the network of the group: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.revived, network.ID)
	return nil
}

// remove removes a container, and the network that it shared if it was the last
// one there.
func (n *networks) remove(ctx context.Context, cli *client.Client, id string) error {
	shared := ""
	if info, err := daemon.Inspect(ctx, cli, id); err == nil && info.NetworkSettings != nil {
		for name := range info.NetworkSettings.Networks {
			if strings.HasPrefix(name, settings.NetworkPrefix) {
				shared = name
			}
		}
	}
	if shared == "" {
		return daemon.Remove(ctx, cli, id)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	err := daemon.Remove(ctx, cli, id)
	_ = daemon.RemoveUnused(ctx, cli, shared) // the end of the run does so as well
	return err
}

// RemoveLeftover removes a container, with its anonymous volumes and the network
// that it was the last one to share.
func (n *networks) RemoveLeftover(ctx context.Context, l drivers.Leftover) error {
	cli, err := n.engine.connect()
	if err != nil {
		return err
	}
	return n.remove(ctx, cli, l.ID)
}
