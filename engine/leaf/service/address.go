package service

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// Address modes of services and checks; see
// https://developer.hashicorp.com/nomad/docs/job-specification/service#address_mode.
const (
	modeAuto      = "auto"
	modeHost      = "host"
	modeDriver    = "driver"
	modeAlloc     = "alloc"
	modeAllocIPv6 = "alloc_ipv6"
)

// Network has the addresses of an allocation or one of its tasks.
type Network struct {
	Ports  []taskenv.Port
	Host   string           // address of the machine, for services without a port
	Driver *drivers.Network // of the task's driver; nil for most, and for groups
	Alloc  string           // address in the allocation's own network; "" for none
}

// Address returns the address of a service. Port is the label or number of its
// port, and custom its own address; both may be empty.
func (n Network) Address(mode, port, custom string) (ip string, number int, err error) {
	switch mode {
	case "", modeAuto:
		switch {
		case custom != "":
			_, number, _ := n.host(port) // 0 for an unknown port
			return custom, number, nil
		case n.Driver != nil && n.Driver.AutoAdvertise && n.Driver.IP != "":
			return n.driver(port)
		}
		return n.host(port)
	case modeHost:
		return n.host(port)
	case modeDriver:
		return n.driver(port)
	case modeAlloc, modeAllocIPv6:
		return n.alloc(mode, port)
	default:
		return "", 0, fmt.Errorf("there is no address_mode %q", mode)
	}
}

// Labeled returns the port with a label.
func Labeled(label string, ports []taskenv.Port) (taskenv.Port, bool) {
	for _, p := range ports {
		if p.Label == label {
			return p, true
		}
	}
	return taskenv.Port{}, false
}

func (n Network) host(port string) (string, int, error) {
	if p, ok := Labeled(port, n.Ports); ok && port != "" {
		return p.HostIP, p.Value, nil
	}
	return n.at(n.Host, port, "the group has no port %q")
}

func (n Network) driver(port string) (string, int, error) {
	if n.Driver == nil || n.Driver.IP == "" {
		return "", 0, fmt.Errorf("cannot use address_mode %q: the task's driver gave it no network", modeDriver)
	}
	if inside, ok := n.Driver.PortMap[port]; ok && port != "" {
		return n.Driver.IP, inside, nil
	}
	return n.at(n.Driver.IP, port, "neither the task's driver nor the group has a port %q")
}

func (n Network) alloc(mode, port string) (string, int, error) {
	if n.Alloc == "" {
		return "", 0, fmt.Errorf("cannot use address_mode %q: the allocation has no network of its own", mode)
	}
	return n.at(n.Alloc, port, "the group has no port %q")
}

// at returns a port at an address. A labeled one is the port in the allocation's own
// network, where tasks listen at other ports than the machine's.
func (n Network) at(ip, port, unknown string) (string, int, error) {
	if port == "" {
		return ip, 0, nil
	}
	if p, ok := Labeled(port, n.Ports); ok {
		return ip, p.Bind(), nil
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return "", 0, fmt.Errorf(unknown, port)
	}
	return ip, number, nil
}

// RegistrationID returns Nomad's ID for a service of a task, or of a group if
// task is empty.
func RegistrationID(alloc, group, task string, s *api.Service) string {
	owner := cmp.Or(task, "group-"+group)
	return fmt.Sprintf("_nomad-task-%s-%s-%s-%s", alloc, owner, s.Name, s.PortLabel)
}
