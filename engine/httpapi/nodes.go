package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// listNodes answers GET /v1/nodes: this machine.
func (s *Server) listNodes(_ http.ResponseWriter, r *request) (any, error) {
	resources, err := r.flag("resources")
	if err != nil {
		return nil, err
	}
	withOS, err := r.flag("os")
	if err != nil {
		return nil, err
	}
	list := []*api.NodeListStub{}
	if n := s.node(r.Context()); strings.HasPrefix(plainID(n.ID), plainID(r.query.Get("prefix"))) {
		stub := &api.NodeListStub{
			Address: n.Attributes["unique.network.ip-address"], ID: n.ID, Datacenter: n.Datacenter, Name: n.Name,
			NodeClass: n.NodeClass, NodePool: n.NodePool, Version: n.Attributes["nomad.version"],
			SchedulingEligibility: n.SchedulingEligibility, Status: n.Status, Drivers: n.Drivers,
			CreateIndex: n.CreateIndex, ModifyIndex: n.ModifyIndex,
		}
		if withOS {
			stub.Attributes = map[string]string{"os.name": n.Attributes["os.name"]}
		}
		if resources {
			stub.NodeResources, stub.ReservedResources = n.NodeResources, n.ReservedResources
		}
		list = append(list, stub)
	}
	return page(r, list, func(n *api.NodeListStub) string { return n.ID })
}

// node describes this machine. It has no address of its own: clients that ask
// for one then stay on the connection that they have.
func (s *Server) node(ctx context.Context) *api.Node {
	n := s.cfg.Node
	attributes := n.AllAttributes()
	drivers := s.engine.Drivers(ctx)
	addDrivers(attributes, drivers)
	number := func(name string) int64 {
		v, _ := strconv.ParseInt(attributes[name], 10, 64) // 0 where it cannot be measured
		return v
	}
	return &api.Node{
		ID: n.ID, Name: n.Name, Datacenter: n.Datacenter, NodeClass: n.Class, NodePool: n.Pool,
		Attributes: attributes, Meta: n.Meta, CgroupParent: n.CgroupParent,
		Status: api.NodeStatusReady, SchedulingEligibility: api.NodeSchedulingEligible,
		Events:  []*api.NodeEvent{{Message: "Node registered", Subsystem: "Cluster", Timestamp: s.started, Details: map[string]string{}, CreateIndex: firstIndex}},
		Drivers: drivers,
		// Clients of Nomad before 1.0 look here.
		Resources: &api.Resources{
			CPU: new(int(number("cpu.totalcompute"))), MemoryMB: new(int(number("memory.totalbytes") >> 20)),
			DiskMB: new(int(number("unique.storage.bytestotal") >> 20)), IOPS: new(0),
		},
		Reserved: &api.Resources{CPU: new(0), MemoryMB: new(0), DiskMB: new(0), IOPS: new(0)},
		NodeResources: &api.NodeResources{
			Cpu: api.NodeCpuResources{
				CpuShares: number("cpu.totalcompute"), TotalCpuCores: uint16(number("cpu.numcores")),
			},
			Memory: api.NodeMemoryResources{MemoryMB: number("memory.totalbytes") >> 20},
			Disk:   api.NodeDiskResources{DiskMB: number("unique.storage.bytestotal") >> 20},
		},
		ReservedResources: &api.NodeReservedResources{},
		StatusUpdatedAt:   s.started.Unix(),
		CreateIndex:       firstIndex, ModifyIndex: firstIndex,
	}
}

// addDrivers brings the attributes of a node up to what its drivers say now.
func addDrivers(attributes map[string]string, drivers map[string]*api.DriverInfo) {
	for name, d := range drivers {
		own := "driver." + name
		delete(attributes, own)
		for attribute, value := range d.Attributes {
			if attribute == own && value == "true" {
				value = "1" // as Nomad has it here
			}
			attributes[attribute] = value
		}
	}
}
