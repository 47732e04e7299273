package render

import (
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/port"
	"taskrun/engine/registry"
)

// Node is a node with fields that Nomad sends and its client does not know.
type Node struct {
	*api.Node
	SecretID string // always empty
}

// Node describes this machine. It has no address of its own, so that clients
// stay on their connection.
func (run *Run) Node(ctx context.Context) Node {
	n := run.Machine
	attributes := n.AllAttributes()
	drivers := run.Engine.Drivers(ctx)
	addDrivers(attributes, drivers)
	number := func(name string) int64 {
		v, _ := strconv.ParseInt(attributes[name], 10, 64) // 0 if it cannot be measured
		return v
	}
	firstPort, lastPort := run.Engine.Ports().Range()
	node := &api.Node{
		ID: n.ID, Name: n.Name, Datacenter: n.Datacenter, NodeClass: n.Class, NodePool: n.Pool,
		Attributes: attributes, Links: map[string]string{}, CgroupParent: n.CgroupParent,
		CSIControllerPlugins: map[string]*api.CSIInfo{}, CSINodePlugins: map[string]*api.CSIInfo{},
		Status: api.NodeStatusReady, SchedulingEligibility: api.NodeSchedulingEligible,
		Events:  []*api.NodeEvent{{Message: "Node registered", Subsystem: "Cluster", Timestamp: run.Began, Details: map[string]string{}, CreateIndex: fold.FirstIndex}},
		Drivers: drivers,
		// For clients of Nomad before 1.0.
		Resources: &api.Resources{
			CPU: new(int(number("cpu.totalcompute"))), MemoryMB: new(int(number("memory.totalbytes") >> 20)),
			DiskMB: new(int(number("unique.storage.bytestotal") >> 20)), IOPS: new(0),
		},
		Reserved: &api.Resources{CPU: new(0), MemoryMB: new(0), DiskMB: new(0), IOPS: new(0)},
		NodeResources: &api.NodeResources{
			Cpu: api.NodeCpuResources{
				CpuShares: number("cpu.totalcompute"), TotalCpuCores: uint16(number("cpu.numcores")),
			},
			Memory:   api.NodeMemoryResources{MemoryMB: number("memory.totalbytes") >> 20},
			Disk:     api.NodeDiskResources{DiskMB: number("unique.storage.bytestotal") >> 20},
			Networks: []*api.NetworkResource{{Mode: "host", IP: port.Address, CIDR: port.Address + "/32"}},

			MinDynamicPort: firstPort, MaxDynamicPort: lastPort,
		},
		ReservedResources: &api.NodeReservedResources{
			Networks: api.NodeReservedNetworkResources{ReservedHostPorts: run.Engine.Ports().Reserved},
		},
		// Clients compare it with the second in which they began: round up.
		StatusUpdatedAt: run.Began.Add(time.Second - 1).Unix(),
		CreateIndex:     fold.FirstIndex, ModifyIndex: fold.FirstIndex,
	}
	run.addChanges(node)
	return Node{Node: node}
}

// addDrivers updates the attributes of a node with the current ones of its
// drivers.
func addDrivers(attributes map[string]string, drivers map[string]*api.DriverInfo) {
	for name, d := range drivers {
		own := "driver." + name
		delete(attributes, own)
		for attribute, value := range d.Attributes {
			if attribute == own && value == "true" {
				value = "1" // Nomad's value
			}
			attributes[attribute] = value
		}
	}
}

// addChanges adds what users have changed to the description of a node.
func (run *Run) addChanges(node *api.Node) {
	kept := run.Engine.Registry()
	node.Meta = kept.MetaOf(node.ID, run.Machine.Meta)
	node.HostVolumes = map[string]*api.HostVolumeInfo{}
	maps.Copy(node.HostVolumes, run.HostVolumes)
	for _, v := range kept.HostVolumes.All() {
		node.HostVolumes[v.Name] = &api.HostVolumeInfo{Path: v.HostPath, ReadOnly: registry.ReadOnly(v), ID: v.ID}
	}
	changed := kept.Nodes.Get(node.ID)
	if changed == nil {
		return
	}
	node.ModifyIndex = changed.ModifyIndex
	if changed.Ineligible {
		node.SchedulingEligibility = api.NodeSchedulingIneligible
	}
	for _, e := range changed.Events {
		node.Events = append(node.Events, &api.NodeEvent{
			Message: e.Message, Subsystem: "Cluster", Timestamp: e.Time, Details: map[string]string{}, CreateIndex: changed.CreateIndex,
		})
	}
}
