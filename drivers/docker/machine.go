package docker

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// machineName is the name of this machine in the containers of an engine that
// runs in a virtual machine of Docker Desktop or a tool like it; see
// https://docs.docker.com/desktop/features/networking/#i-want-to-connect-from-a-container-to-a-service-on-the-host.
const machineName = "host.docker.internal"

// machine is this machine, as containers reach it.
type machine struct {
	engine *engine

	mu    sync.Mutex
	known *drivers.Machine // nil until the engine was asked
	err   error
}

var errRootless = errors.New("containers of a rootless engine cannot reach the loopback address of this machine")

// Machine returns where containers reach this machine: at its address in the
// engine's own network.
func (m *machine) Machine(ctx context.Context) (drivers.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil {
		return *m.known, m.err
	}
	cli, err := m.engine.connect()
	if err != nil {
		return drivers.Machine{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, daemon.ReplyTime)
	defer cancel()
	found, err := findMachine(ctx, cli, ownAddresses())
	if !daemon.Unreachable(err) {
		m.known, m.err = &found, err
	}
	return found, err
}

// findMachine asks an engine for its own network. If the engine runs elsewhere,
// such as in a virtual machine, this machine has no address in that network.
func findMachine(ctx context.Context, cli *client.Client, own []netip.Addr) (drivers.Machine, error) {
	switch rootless, err := daemon.Rootless(ctx, cli); {
	case err != nil:
		return drivers.Machine{}, err
	case rootless: // its network is not that of this machine, even with the same addresses
		return drivers.Machine{}, errRootless
	}
	bridge, err := cli.NetworkInspect(ctx, network.NetworkBridge, client.NetworkInspectOptions{})
	if err != nil {
		return drivers.Machine{}, daemon.Error("cannot ask the engine for its network", err)
	}
	for _, c := range bridge.Network.IPAM.Config {
		for _, ip := range own {
			if ip == c.Gateway || !c.Gateway.IsValid() && c.Subnet.Contains(ip) {
				return drivers.Machine{Address: ip.String(), Here: true}, nil
			}
		}
	}
	info, err := cli.Info(ctx, client.InfoOptions{})
	switch {
	case err != nil:
		return drivers.Machine{}, daemon.Error("cannot ask the engine where it runs", err)
	case runtime.GOOS == "darwin" || info.Info.OperatingSystem == "Docker Desktop":
		return drivers.Machine{Address: machineName}, nil
	}
	return drivers.Machine{}, errors.New("this machine has no address in the engine's own network")
}

// ownAddresses returns the IPv4 addresses of this machine.
func ownAddresses() (list []netip.Addr) {
	all, _ := net.InterfaceAddrs() // without them the engine counts as one that runs elsewhere
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			ip, _ := netip.AddrFromSlice(n.IP.To4())
			list = append(list, ip)
		}
	}
	return list
}

// Outside implements drivers.Outsider.
func (m *machine) Outside(config map[string]any) (outside bool, ports []string) {
	mode, _ := config["network_mode"].(string)
	if network := container.NetworkMode(mode); network.IsHost() || network.IsNone() || network.IsContainer() {
		return false, nil
	}
	list, _ := config["ports"].([]any)
	for _, label := range list {
		if text, ok := label.(string); ok {
			ports = append(ports, text)
		}
	}
	return true, ports
}

// publish makes containers reach the published ports of another one, too: the
// engine forwards those of the loopback address also from this machine's
// address in its network.
func (m *machine) publish(ctx context.Context, host *container.HostConfig) {
	if len(host.PortBindings) == 0 {
		return
	}
	found, err := m.Machine(ctx)
	if err != nil || !found.Here {
		return // they are reached at the loopback address only
	}
	if at, err := netip.ParseAddr(found.Address); err == nil {
		settings.PublishAlso(host, at)
	}
}
