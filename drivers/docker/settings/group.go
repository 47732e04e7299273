package settings

import (
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// pauseMemory is the memory of a container that only holds a network, in
// bytes. Engines refuse less than 6 MiB.
const pauseMemory = 8 << 20

// Group describes the container that holds the network of a group.
func (b *Builder) Group(req *drivers.NetworkRequest) (client.ContainerCreateOptions, error) {
	config := &container.Config{
		Hostname: req.Hostname, StopSignal: "SIGKILL", // the program ignores other signals, and stopping the engine would have to wait
		Labels: map[string]string{daemon.LabelAlloc: req.AllocID, daemon.LabelRun: b.Run, daemon.LabelDir: req.AllocDir},
	}
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(req.Mode),
		LogConfig:   container.LogConfig{Type: "none"},
		Resources:   container.Resources{Memory: pauseMemory, MemorySwap: pauseMemory},
	}
	if req.DNS != nil {
		if err := resolve("dns servers", *req.DNS, host); err != nil {
			return client.ContainerCreateOptions{}, err
		}
	}
	if !host.NetworkMode.IsNone() {
		var list []mapping
		for _, p := range req.Ports {
			list = append(list, mapping{p, p.Bind()})
		}
		if err := publish(list, config, host); err != nil {
			return client.ContainerCreateOptions{}, err
		}
	}
	return client.ContainerCreateOptions{Config: config, HostConfig: host, Name: GroupName(req.AllocID)}, nil
}

// GroupName returns Nomad's name of the container that holds the network of a
// group.
func GroupName(alloc string) string { return "nomad_init_" + alloc }
