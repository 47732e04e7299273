package settings

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
)

// pauseMemory is the memory of a container that only holds a network, in
// bytes. Engines refuse less than 6 MiB.
const pauseMemory = 8 << 20

// The container that holds a network hands out sockets there.
const (
	// Sockets is the address, in the root directory of the container.
	Sockets = "net/" + SocketName
	// SocketName is the name of the address in the directory that is mounted.
	SocketName = "socket"

	insideSockets = "/net"
)

// Group describes the container that holds the network of a group. It hands out
// sockets in a directory, unless that is "".
func (b *Builder) Group(req *drivers.NetworkRequest, sockets string) (client.ContainerCreateOptions, error) {
	config := &container.Config{
		Hostname: req.Hostname, StopSignal: "SIGKILL", // the program ignores other signals, and stopping the engine would have to wait
		Labels: map[string]string{daemon.LabelAlloc: req.AllocID, daemon.LabelRun: b.Run, daemon.LabelDir: req.AllocDir},
	}
	host := &container.HostConfig{
		NetworkMode: container.NetworkMode(cmp.Or(NetworkName(req), req.Mode)),
		LogConfig:   container.LogConfig{Type: "none"},
		Resources:   container.Resources{Memory: pauseMemory, MemorySwap: pauseMemory},
	}
	if sockets != "" {
		b.bind(sockets, insideSockets, false, host)
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

// NetworkName returns the name of a network that the groups of a run share, or
// "". It depends on the directory of the run, so that runs are isolated.
func NetworkName(req *drivers.NetworkRequest) string {
	if req.Name == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(RunDir(req)))
	return fmt.Sprintf("%s%s-%x", NetworkPrefix, plain(req.Name), sum[:4])
}

// NetworkPrefix begins the names of the networks of runs.
const NetworkPrefix = "taskrun-"

// RunDir returns the directory of a run: its allocations are two levels below.
func RunDir(req *drivers.NetworkRequest) string { return filepath.Dir(filepath.Dir(req.AllocDir)) }

// GroupName returns Nomad's name of the container that holds the network of a
// group.
func GroupName(alloc string) string { return "nomad_init_" + alloc }
