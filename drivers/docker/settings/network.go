package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// Joins reports whether the task shares the network of its group.
func (c *Config) Joins(cfg *drivers.TaskConfig) bool {
	return cfg.Network != nil && c.NetworkMode == ""
}

// connect connects a container to the network of its group, or to a network of
// the engine, which forwards ports.
func (c *Config) connect(cfg *drivers.TaskConfig, config *container.Config, host *container.HostConfig) (*network.NetworkingConfig, error) {
	if c.Joins(cfg) {
		host.NetworkMode = container.NetworkMode("container:" + cfg.Network.ID)
		if !c.KeepHostname {
			config.Hostname = "" // it belongs to the network
		}
		return nil, c.resolveInGroup(cfg, host)
	}
	host.NetworkMode = container.NetworkMode(c.NetworkMode)
	if host.NetworkMode.IsContainer() { // everything else belongs to the other container
		return nil, nil
	}
	host.ExtraHosts = c.ExtraHosts
	if err := resolve("dns_servers", c.dns(cfg), host); err != nil {
		return nil, err
	}
	if !host.NetworkMode.IsHost() && !host.NetworkMode.IsNone() {
		list, err := c.mappings(cfg)
		if err == nil {
			err = publish(list, config, host)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.endpoint()
}

// mapping is a port of this machine that is forwarded to one of the container.
type mapping struct {
	taskenv.Port
	inside int
}

// mappings returns the ports of the task: those of the group that the option
// ports names, and those of the task's deprecated network block.
func (c *Config) mappings(cfg *drivers.TaskConfig) (list []mapping, err error) {
	labeled := func(label string) func(taskenv.Port) bool {
		return func(p taskenv.Port) bool { return p.Label == label }
	}
	for _, label := range c.Ports {
		i := slices.IndexFunc(cfg.Ports, labeled(label))
		if i < 0 {
			return nil, fmt.Errorf("Port %q not found, check network block", label) //nolint:staticcheck // Nomad's words
		}
		list = append(list, mapping{cfg.Ports[i], cfg.Ports[i].Bind()})
	}
	inside := merge(c.PortMap)
	if len(inside) > 0 && len(cfg.TaskPorts) == 0 {
		if len(cfg.Ports) > 0 {
			return nil, errors.New("'port_map' cannot map group network ports, use 'ports' instead")
		}
		return nil, errors.New("Trying to map ports but no network interface is available") //nolint:staticcheck // Nomad's words
	}
	for _, label := range sortedKeys(inside) {
		if !slices.ContainsFunc(cfg.TaskPorts, labeled(label)) {
			return nil, fmt.Errorf("port_map names the port %q, which the task's resources do not have", label)
		}
	}
	for _, port := range cfg.TaskPorts {
		list = append(list, mapping{port, cmp.Or(inside[port.Label], port.Bind())})
	}
	return list, nil
}

// publish has the engine forward ports, for TCP and UDP.
func publish(list []mapping, config *container.Config, host *container.HostConfig) error {
	config.ExposedPorts, host.PortBindings = network.PortSet{}, network.PortMap{}
	for _, m := range list {
		ip, err := netip.ParseAddr(m.HostIP)
		if err != nil {
			return fmt.Errorf("port %q has an unusable address: %w", m.Label, err)
		}
		for _, protocol := range []network.IPProtocol{network.TCP, network.UDP} {
			inside, ok := network.PortFrom(uint16(m.inside), protocol)
			if !ok || m.inside > 65535 {
				return fmt.Errorf("port %q leads to %d, which is not a port", m.Label, m.inside)
			}
			config.ExposedPorts[inside] = struct{}{}
			host.PortBindings[inside] = append(host.PortBindings[inside], network.PortBinding{HostIP: ip, HostPort: strconv.Itoa(m.Value)})
		}
	}
	return nil
}

// PublishAlso has the engine forward ports of the loopback address from another
// address of this machine as well.
func PublishAlso(host *container.HostConfig, at netip.Addr) {
	for inside, list := range host.PortBindings {
		for _, b := range list {
			if b.HostIP.IsLoopback() {
				b.HostIP = at
				host.PortBindings[inside] = append(host.PortBindings[inside], b)
			}
		}
	}
}

// endpoint returns the task's settings in a network of the engine; nil for the
// engine's own.
func (c *Config) endpoint() (*network.NetworkingConfig, error) {
	if len(c.NetworkAliases) == 0 && c.IPv4Address == "" && c.IPv6Address == "" && c.MACAddress == "" {
		return nil, nil
	}
	settings := &network.EndpointSettings{Aliases: c.NetworkAliases}
	if c.IPv4Address != "" || c.IPv6Address != "" {
		settings.IPAMConfig = &network.EndpointIPAMConfig{}
	}
	var err error
	if c.IPv4Address != "" {
		if settings.IPAMConfig.IPv4Address, err = netip.ParseAddr(c.IPv4Address); err != nil {
			return nil, fmt.Errorf("ipv4_address: %w", err)
		}
	}
	if c.IPv6Address != "" {
		if settings.IPAMConfig.IPv6Address, err = netip.ParseAddr(c.IPv6Address); err != nil {
			return nil, fmt.Errorf("ipv6_address: %w", err)
		}
	}
	if c.MACAddress != "" {
		mac, err := net.ParseMAC(c.MACAddress)
		if err != nil {
			return nil, fmt.Errorf("mac_address: %w", err)
		}
		settings.MacAddress = network.HardwareAddr(mac)
	}
	name := cmp.Or(c.NetworkMode, network.NetworkBridge)
	return &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{name: settings}}, nil
}

// podmanBridge is Podman's name of the network that containers have by default.
const podmanBridge = "podman"

// NetworkOf returns how to reach a running container; nil if it has no address of
// its own.
func (c *Config) NetworkOf(cfg *drivers.TaskConfig, info container.InspectResponse) *drivers.Network {
	if c.Joins(cfg) || info.NetworkSettings == nil {
		return nil
	}
	list, _ := c.mappings(cfg) // checked before the start
	out := &drivers.Network{PortMap: map[string]int{}}
	for _, m := range list {
		out.PortMap[m.Label] = m.inside
	}
	for _, name := range sortedKeys(info.NetworkSettings.Networks) {
		e := info.NetworkSettings.Networks[name]
		ip := e.IPAddress
		if c.AdvertiseIPv6Address {
			ip = e.GlobalIPv6Address
		}
		if !ip.IsValid() {
			continue
		}
		out.IP = ip.String()
		// An address in a network that the user created should be advertised.
		out.AutoAdvertise = name != network.NetworkBridge && name != podmanBridge && name != network.NetworkHost
		return out
	}
	return nil
}

// environment returns the variables of the task. Those of the ports of its
// deprecated network block have the ports inside the container.
func (c *Config) environment(cfg *drivers.TaskConfig) map[string]string {
	if len(c.PortMap) == 0 {
		return cfg.Env
	}
	env := maps.Clone(cfg.Env)
	for label, port := range merge(c.PortMap) {
		if name := "NOMAD_PORT_" + strings.ReplaceAll(label, "-", "_"); env[name] != "" {
			env[name] = strconv.Itoa(port)
		}
	}
	return env
}
