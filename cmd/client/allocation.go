package client

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// Services returns the services that the allocations of the task's job have registered
// with Nomad.
func (t *Task) Services(ctx context.Context) ([]*api.ServiceRegistration, error) {
	s := t.Server.in(t.Alloc.Namespace)
	list, _, err := askOf(ctx, s, "list the services of job "+s.quoted(t.Alloc.JobID), 0, t.Alloc.JobID, s.API.Jobs().Services)
	return list, err
}

// Checks returns the latest results of the checks of the task's allocation, except
// those that Consul carries out.
func (t *Task) Checks(ctx context.Context) (api.AllocCheckStatuses, error) {
	s := t.Server.in(t.Alloc.Namespace)
	found, _, err := ask(ctx, s, fmt.Sprintf("get the checks of allocation %q", t.Alloc.Name), 0, func(q *api.QueryOptions) (api.AllocCheckStatuses, *api.QueryMeta, error) {
		found, err := s.API.Allocations().Checks(t.Alloc.ID, q)
		return found, &api.QueryMeta{}, err
	})
	return found, err
}

// statsAsked limits the concurrent requests for statistics of allocations.
const statsAsked = 16

// Stats returns the resource usage of tasks, and the errors of allocations that
// did not answer. It omits tasks without statistics, such as dead ones.
func Stats(ctx context.Context, tasks []*Task) (used map[*Task]*api.TaskResourceUsage, errs []error) {
	of := Allocs(tasks)
	answers := make([]*api.AllocResourceUsage, len(of))
	errs = make([]error, len(of))
	var asking sync.WaitGroup
	places := make(chan struct{}, statsAsked)
	for i, t := range of {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			answers[i], errs[i] = statsOf(ctx, t)
		})
	}
	asking.Wait()
	used = map[*Task]*api.TaskResourceUsage{}
	for _, t := range tasks {
		i := slices.IndexFunc(of, func(o *Task) bool { return o.Alloc.ID == t.Alloc.ID })
		if answers[i] == nil {
			continue
		}
		if u := answers[i].Tasks[t.Name]; u != nil && u.ResourceUsage != nil {
			used[t] = u
		}
	}
	return used, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func statsOf(ctx context.Context, t *Task) (*api.AllocResourceUsage, error) {
	s := t.Server.in(t.Alloc.Namespace)
	used, _, err := ask(ctx, s, fmt.Sprintf("get the statistics of allocation %q", t.Alloc.Name), 0, func(q *api.QueryOptions) (*api.AllocResourceUsage, *api.QueryMeta, error) {
		used, err := s.API.Allocations().Stats(t.alloc(), q)
		return used, &api.QueryMeta{}, err
	})
	return used, err
}

// Allocs returns one task of each allocation that tasks belong to.
func Allocs(tasks []*Task) []*Task {
	var first []*Task
	for _, t := range tasks {
		if !slices.ContainsFunc(first, func(f *Task) bool { return f.Alloc.ID == t.Alloc.ID }) {
			first = append(first, t)
		}
	}
	return first
}

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

// MemoryOf returns the used memory: drivers report one of two numbers.
func MemoryOf(used *api.ResourceUsage) uint64 {
	if memory := used.MemoryStats; memory != nil {
		return max(memory.RSS, memory.Usage)
	}
	return 0
}
