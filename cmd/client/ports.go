package client

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// Port is a port that a task may use: one of its group, or one of its own.
type Port struct {
	Task  *Task
	Label string
	Host  string // IP address of the machine
	Port  int    // on the machine
	To    int    // where the task listens; 0: the same port
}

// Address returns host and port, as a client on the machine dials them.
func (p Port) Address() string {
	host := p.Host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(p.Port))
}

// Ports returns the ports of tasks, in the order of the tasks.
func Ports(ctx context.Context, tasks []*Task) (ports []Port, err error) {
	allocs := map[string]*api.Allocation{}
	for _, t := range tasks {
		alloc := allocs[t.Alloc.ID]
		if alloc == nil {
			if alloc, err = allocationOf(ctx, t); err != nil {
				return nil, err
			}
			allocs[t.Alloc.ID] = alloc
		}
		ports = append(ports, portsIn(t, alloc)...)
	}
	return ports, nil
}

// allocationOf returns the task's allocation with all that its server knows.
func allocationOf(ctx context.Context, t *Task) (*api.Allocation, error) {
	s := t.Server.in(t.Alloc.Namespace)
	alloc, _, err := askOf(ctx, s, fmt.Sprintf("read allocation %q", t.Alloc.Name), 0, t.Alloc.ID, s.API.Allocations().Info)
	return alloc, err
}

func portsIn(t *Task, alloc *api.Allocation) (ports []Port) {
	granted := alloc.AllocatedResources
	if granted == nil {
		return nil // it is not placed yet
	}
	for _, p := range granted.Shared.Ports {
		ports = append(ports, Port{t, p.Label, p.HostIP, p.Value, p.To})
	}
	if own := granted.Tasks[t.Name]; own != nil {
		for _, n := range own.Networks {
			for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
				ports = append(ports, Port{t, p.Label, n.IP, p.Value, p.To})
			}
		}
	}
	return ports
}
