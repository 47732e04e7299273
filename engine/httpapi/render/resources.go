package render

import (
	"cmp"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/jobspec/taskenv"
)

// addResources adds the resources that a group's tasks request, and the group's
// assigned ports.
func addResources(alloc *api.Allocation, group *api.TaskGroup, a engine.Alloc) {
	total := &api.Resources{CPU: new(0), Cores: new(0), MemoryMB: new(0), MemoryMaxMB: new(0), DiskMB: new(0), IOPS: new(0)}
	if disk := group.EphemeralDisk; disk != nil && disk.SizeMB != nil {
		*total.DiskMB = *disk.SizeMB
	}
	alloc.Resources = total
	alloc.TaskResources = map[string]*api.Resources{}
	alloc.AllocatedResources = &api.AllocatedResources{
		Tasks: map[string]*api.AllocatedTaskResources{},
		Shared: api.AllocatedSharedResources{
			DiskMB: int64(*total.DiskMB), Ports: portMappings(a.Ports), Networks: networks(group.Networks, a.Ports),
		},
	}
	for _, t := range group.Tasks {
		asked := api.Resources{}
		if t.Resources != nil {
			asked = *t.Resources
		}
		granted := a.Granted[t.Name]
		asked.CPU, asked.MemoryMB, asked.MemoryMaxMB = new(granted.CPU), new(granted.MemoryMB), new(granted.MemoryMaxMB)
		asked.Networks = networks(asked.Networks, a.TaskPorts[t.Name])
		alloc.TaskResources[t.Name] = &asked
		*total.CPU += granted.CPU
		*total.Cores += *cmp.Or(asked.Cores, new(0))
		*total.MemoryMB += granted.MemoryMB
		*total.MemoryMaxMB += max(granted.MemoryMB, granted.MemoryMaxMB)
		alloc.AllocatedResources.Tasks[t.Name] = &api.AllocatedTaskResources{
			Cpu:      api.AllocatedCpuResources{CpuShares: int64(granted.CPU)},
			Memory:   api.AllocatedMemoryResources{MemoryMB: int64(granted.MemoryMB), MemoryMaxMB: int64(granted.MemoryMaxMB)},
			Networks: asked.Networks,
		}
	}
	total.Networks = alloc.AllocatedResources.Shared.Networks
}

func portMappings(ports []taskenv.Port) []api.PortMapping {
	var mappings []api.PortMapping
	for _, p := range ports {
		mappings = append(mappings, api.PortMapping{Label: p.Label, Value: p.Value, To: p.To, HostIP: p.HostIP})
	}
	return mappings
}

// networks returns the networks of a group or task, with the assigned port
// numbers.
func networks(asked []*api.NetworkResource, ports []taskenv.Port) []*api.NetworkResource {
	var list []*api.NetworkResource
	given := map[string]taskenv.Port{}
	for _, p := range ports {
		given[p.Label] = p
	}
	for _, n := range asked {
		network := *n
		fill := func(asked []api.Port) []api.Port {
			var filled []api.Port
			for _, p := range asked {
				p.Value = given[p.Label].Value
				network.IP = given[p.Label].HostIP
				filled = append(filled, p)
			}
			return filled
		}
		network.ReservedPorts, network.DynamicPorts = fill(n.ReservedPorts), fill(n.DynamicPorts)
		list = append(list, &network)
	}
	return list
}
