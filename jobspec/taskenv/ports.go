package taskenv

import (
	"net"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Port is a port assigned to a group or, through the deprecated network block
// of its resources, to a task.
type Port struct {
	Label  string
	Value  int    // on the host
	To     int    // for the task to bind; 0 or less: Value
	HostIP string // address of Value
}

// Endpoint is where something listens.
type Endpoint struct {
	Host string // an IP address, or a name
	Port int    // 0 for none
}

// View returns where a task sees an endpoint of this machine.
type View func(Endpoint) Endpoint

// seen returns the port as a task sees it.
func (p Port) seen(view View) Port {
	if view == nil {
		return p
	}
	at := view(Endpoint{p.HostIP, p.Value})
	p.To, p.HostIP, p.Value = p.Bind(), at.Host, at.Port
	return p
}

// Bind returns the port that the task must bind.
func (p Port) Bind() int {
	if p.To > 0 {
		return p.To
	}
	return p.Value
}

func (p Port) bind() string { return strconv.Itoa(p.Bind()) }

func (p Port) addr() string { return net.JoinHostPort(p.HostIP, strconv.Itoa(p.Value)) }

// networkStatus is the interface and address of an allocation in its own
// network namespace.
type networkStatus struct{ iface, address string }

// setPorts sets the variables of the group's ports.
func (v *variables) setPorts(ports []Port, network networkStatus) {
	for _, p := range ports {
		p = p.seen(v.view)
		v.set("NOMAD_PORT_"+p.Label, p.bind())
		v.set("NOMAD_ALLOC_PORT_"+p.Label, p.bind())
		v.set("NOMAD_HOST_PORT_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+p.Label, p.HostIP)
		v.set("NOMAD_HOST_IP_"+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+p.Label, p.addr())
		v.set("NOMAD_HOST_ADDR_"+p.Label, p.addr())
		if network.address != "" {
			v.set("NOMAD_ALLOC_INTERFACE_"+p.Label, network.iface)
			v.set("NOMAD_ALLOC_IP_"+p.Label, network.address)
			v.set("NOMAD_ALLOC_ADDR_"+p.Label, net.JoinHostPort(network.address, p.bind()))
		}
	}
}

// setOwnPorts sets the variables of the task's own legacy ports.
func (v *variables) setOwnPorts(ports []Port) {
	for _, p := range ports {
		v.set("NOMAD_PORT_"+p.Label, strconv.Itoa(p.Value))
		p = p.seen(v.view)
		family := "NOMAD_IPv4_"
		if strings.Contains(p.HostIP, ":") {
			family = "NOMAD_IPv6_"
		}
		v.set("NOMAD_HOST_PORT_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+p.Label, p.HostIP)
		v.set(family+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+p.Label, p.addr())
	}
}

// setTaskPorts sets the variables of another task's legacy ports.
func (v *variables) setTaskPorts(task string, ports []Port) {
	for _, p := range ports {
		p = p.seen(v.view)
		v.set("NOMAD_PORT_"+task+"_"+p.Label, strconv.Itoa(p.Value))
		v.set("NOMAD_IP_"+task+"_"+p.Label, p.HostIP)
		v.set("NOMAD_ADDR_"+task+"_"+p.Label, p.addr())
	}
}

// setUpstreams sets the variables of the group's Connect upstreams.
func (v *variables) setUpstreams(services []*api.Service) {
	const ip = "127.0.0.1" // where a sidecar listens
	for _, s := range services {
		if s.Connect == nil || s.Connect.SidecarService == nil || s.Connect.SidecarService.Proxy == nil {
			continue
		}
		for _, u := range s.Connect.SidecarService.Proxy.Upstreams {
			port := strconv.Itoa(u.LocalBindPort)
			for _, name := range []string{u.DestinationName, clean(u.DestinationName)} {
				v.set("NOMAD_UPSTREAM_IP_"+name, ip)
				v.set("NOMAD_UPSTREAM_PORT_"+name, port)
				v.set("NOMAD_UPSTREAM_ADDR_"+name, net.JoinHostPort(ip, port))
			}
		}
	}
}
