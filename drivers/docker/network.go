package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// joins reports whether the task shares the network of its group.
func (c *taskConfig) joins(cfg *drivers.TaskConfig) bool {
	return cfg.Network != nil && c.NetworkMode == ""
}

// connect says how a container is connected: to the network of its group, or
// to one of the engine, with ports that the engine hands on.
func (c *taskConfig) connect(cfg *drivers.TaskConfig, config *container.Config, host *container.HostConfig) (*network.NetworkingConfig, error) {
	if c.joins(cfg) {
		host.NetworkMode = container.NetworkMode("container:" + cfg.Network.ID)
		config.Hostname = "" // it belongs to the network
		return nil, c.resolveInGroup(cfg, host)
	}
	host.NetworkMode = container.NetworkMode(c.NetworkMode)
	if host.NetworkMode.IsContainer() { // all else belongs to the other container
		return nil, nil
	}
	host.ExtraHosts = c.ExtraHosts
	dns := c.dns(cfg)
	var err error
	if host.DNS, err = addresses("dns_servers", dns.Servers); err != nil {
		return nil, err
	}
	host.DNSSearch, host.DNSOptions = dns.Searches, dns.Options
	if !host.NetworkMode.IsHost() && !host.NetworkMode.IsNone() {
		if err := c.publish(cfg, config, host); err != nil {
			return nil, err
		}
	}
	return c.endpoint()
}

// dns is how the task resolves names; the group's word counts before its own.
func (c *taskConfig) dns(cfg *drivers.TaskConfig) drivers.DNS {
	if cfg.DNS != nil {
		return *cfg.DNS
	}
	return drivers.DNS{Servers: c.DNSServers, Searches: c.DNSSearchDomains, Options: c.DNSOptions}
}

// mapping is a port of this machine that leads to one of the container.
type mapping struct {
	taskenv.Port
	inside int
}

// mappings are the ports that the task wants: those of the group that ports
// names, or those of the task's deprecated network block.
func (c *taskConfig) mappings(cfg *drivers.TaskConfig) (list []mapping, err error) {
	for _, label := range c.Ports {
		port, ok := find(cfg.Ports, label)
		if !ok {
			return nil, fmt.Errorf("Port %q not found, check network block", label) //nolint:staticcheck // Nomad's words
		}
		list = append(list, mapping{port, port.Bind()})
	}
	inside := merge(c.PortMap)
	if len(inside) > 0 && len(cfg.TaskPorts) == 0 {
		if len(cfg.Ports) > 0 {
			return nil, errors.New("'port_map' cannot map group network ports, use 'ports' instead")
		}
		return nil, errors.New("Trying to map ports but no network interface is available") //nolint:staticcheck // Nomad's words
	}
	for _, label := range sortedKeys(inside) {
		if _, ok := find(cfg.TaskPorts, label); !ok {
			return nil, fmt.Errorf("port_map names the port %q, which the task's resources do not have", label)
		}
	}
	for _, port := range cfg.TaskPorts {
		to := port.Bind()
		if mapped := inside[port.Label]; mapped != 0 {
			to = mapped
		}
		list = append(list, mapping{port, to})
	}
	return list, nil
}

func find(ports []taskenv.Port, label string) (taskenv.Port, bool) {
	for _, p := range ports {
		if p.Label == label {
			return p, true
		}
	}
	return taskenv.Port{}, false
}

// publish has the engine hand the task's ports on, for TCP and UDP.
func (c *taskConfig) publish(cfg *drivers.TaskConfig, config *container.Config, host *container.HostConfig) error {
	list, err := c.mappings(cfg)
	if err != nil {
		return err
	}
	config.ExposedPorts, host.PortBindings, err = publish(list)
	return err
}

func publish(list []mapping) (network.PortSet, network.PortMap, error) {
	exposed, bound := network.PortSet{}, network.PortMap{}
	for _, m := range list {
		ip, err := netip.ParseAddr(m.HostIP)
		if err != nil {
			return nil, nil, fmt.Errorf("port %q has an unusable address: %w", m.Label, err)
		}
		for _, protocol := range []network.IPProtocol{network.TCP, network.UDP} {
			inside, ok := network.PortFrom(uint16(m.inside), protocol)
			if !ok || m.inside > 65535 {
				return nil, nil, fmt.Errorf("port %q leads to %d, which is no port", m.Label, m.inside)
			}
			exposed[inside] = struct{}{}
			bound[inside] = append(bound[inside], network.PortBinding{HostIP: ip, HostPort: strconv.Itoa(m.Value)})
		}
	}
	return exposed, bound, nil
}

// macAPI is the first version of the engine's API that takes the address of an
// endpoint; older ones are silent about it.
const macAPI = "1.44"

// checkMAC refuses a mac_address that the engine would not obey.
func (c *taskConfig) checkMAC(ctx context.Context, cli *client.Client) error {
	if c.MACAddress == "" {
		return nil
	}
	if _, err := cli.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return engineError("cannot ask the engine for its version", err)
	}
	if v := cli.ClientVersion(); versions.LessThan(v, macAPI) {
		return fmt.Errorf("mac_address needs Docker 25 or later: the engine speaks version %s of the API, not %s", v, macAPI)
	}
	return nil
}

// endpoint is what the task wants to be in the engine's network.
func (c *taskConfig) endpoint() (*network.NetworkingConfig, error) {
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
	name := orElse(c.NetworkMode, network.NetworkBridge)
	return &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{name: settings}}, nil
}

func addresses(option string, texts []string) (list []netip.Addr, err error) {
	for _, text := range texts {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%s: invalid ip dns server: %q", option, text)
		}
		list = append(list, ip)
	}
	return list, nil
}

// networkOf tells how a running container is reached; nil when it has no
// address of its own.
func (c *taskConfig) networkOf(cfg *drivers.TaskConfig, info container.InspectResponse) *drivers.Network {
	if c.joins(cfg) || info.NetworkSettings == nil {
		return nil
	}
	list, _ := c.mappings(cfg) // that they are well was seen before the start
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
		// Other networks than these are there to be reached by.
		out.AutoAdvertise = name != network.NetworkBridge && name != network.NetworkHost
		return out
	}
	return nil
}

// environment is the task's, with the ports inside in the variables of its
// deprecated network block.
func (c *taskConfig) environment(cfg *drivers.TaskConfig) map[string]string {
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
