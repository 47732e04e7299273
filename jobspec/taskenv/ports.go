package taskenv

import (
	"net"
	"strconv"
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

// Network is the interface and address of an allocation in its own network
// namespace.
type Network struct{ Interface, Address string }
