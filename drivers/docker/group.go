package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

var _ drivers.NetworkManager = (*Driver)(nil)

// groupInterface is what a container's interface is called by the engine.
const groupInterface = "eth0"

// pauseMemory is the memory of a container that only holds a network, in
// bytes. Engines refuse less than 6 MiB.
const pauseMemory = 8 << 20

// CreateNetwork makes the network of a group: that of a container which does
// nothing, and which the containers of the tasks join. It finds one that was
// made for the allocation before.
func (d *Driver) CreateNetwork(ctx context.Context, req *drivers.NetworkRequest) (*drivers.NetworkIsolation, error) {
	cli, err := d.connect()
	if err != nil {
		return nil, err
	}
	name := "nomad_init_" + req.AllocID // Nomad's
	if info, err := cli.ContainerInspect(ctx, name, client.ContainerInspectOptions{}); err == nil {
		if info.Container.State.Running {
			d.adopt(info.Container.Config.Labels[labelRun])
			return isolation(req, info.Container), nil
		}
		if err := removeContainer(ctx, cli, name); err != nil {
			return nil, err
		}
	}
	image, program, err := d.images.pause(ctx, cli, req.AllocID)
	if err != nil {
		return nil, err
	}
	opts, err := d.builder.pauseOptions(req, name)
	if err != nil {
		return nil, err
	}
	opts.Config.Image, opts.Config.Entrypoint = image, program
	d.use()
	made, err := cli.ContainerCreate(ctx, opts)
	if err != nil {
		return nil, engineError("cannot make the network of the group", err)
	}
	if _, err = cli.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err == nil {
		var info client.ContainerInspectResult
		if info, err = cli.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{}); err == nil {
			return isolation(req, info.Container), nil
		}
	}
	_ = removeContainer(context.WithoutCancel(ctx), cli, made.ID) // what failed before is the news
	return nil, engineError("cannot make the network of the group", err)
}

func (b *builder) pauseOptions(req *drivers.NetworkRequest, name string) (client.ContainerCreateOptions, error) {
	config := &container.Config{
		Hostname: req.Hostname, StopSignal: "SIGKILL", // it hears no other, and an engine that stops would wait
		Labels: map[string]string{labelAlloc: req.AllocID, labelRun: b.run, labelDir: req.AllocDir},
	}
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(req.Mode),
		LogConfig:   container.LogConfig{Type: "none"},
		Resources:   container.Resources{Memory: pauseMemory, MemorySwap: pauseMemory},
	}
	if dns := req.DNS; dns != nil {
		var err error
		if host.DNS, err = addresses("dns servers", dns.Servers); err != nil {
			return client.ContainerCreateOptions{}, err
		}
		host.DNSSearch, host.DNSOptions = dns.Searches, dns.Options
	}
	if !host.NetworkMode.IsNone() {
		var list []mapping
		for _, p := range req.Ports {
			list = append(list, mapping{p, p.Bind()})
		}
		var err error
		if config.ExposedPorts, host.PortBindings, err = publish(list); err != nil {
			return client.ContainerCreateOptions{}, err
		}
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host, Name: name}, nil
}

// isolation describes the network that a container holds.
func isolation(req *drivers.NetworkRequest, info container.InspectResponse) *drivers.NetworkIsolation {
	n := &drivers.NetworkIsolation{Driver: "docker", ID: info.ID, Hostname: info.Config.Hostname}
	if e := info.NetworkSettings.Networks[network.NetworkBridge]; e != nil && req.Mode == "bridge" && e.IPAddress.IsValid() {
		n.Interface, n.IP, n.Gateway = groupInterface, e.IPAddress.String(), e.Gateway.String()
	}
	return n
}

// revive starts the container that holds a network again if it has ended, as
// with the engine, and reports whether it was so.
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
	if err := removeContainer(ctx, cli, n.ID); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("cannot remove the network of the group: %w", err)
	}
	return nil
}
