package httpapi

import (
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
	list := []*api.NodeListStub{}
	if n := s.node(); strings.HasPrefix(plainID(n.ID), plainID(r.query.Get("prefix"))) {
		stub := &api.NodeListStub{
			Address: n.Attributes["unique.network.ip-address"], ID: n.ID, Datacenter: n.Datacenter, Name: n.Name,
			NodeClass: n.NodeClass, NodePool: n.NodePool, Version: n.Attributes["nomad.version"],
			SchedulingEligibility: n.SchedulingEligibility, Status: n.Status, Drivers: n.Drivers,
			CreateIndex: n.CreateIndex, ModifyIndex: n.ModifyIndex,
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
func (s *Server) node() *api.Node {
	n := s.cfg.Node
	attributes := n.AllAttributes()
	number := func(name string) int64 {
		v, _ := strconv.ParseInt(attributes[name], 10, 64) // 0 where it cannot be measured
		return v
	}
	return &api.Node{
		ID: n.ID, Name: n.Name, Datacenter: n.Datacenter, NodeClass: n.Class, NodePool: n.Pool,
		Attributes: attributes, Meta: n.Meta, CgroupParent: n.CgroupParent,
		Status: api.NodeStatusReady, SchedulingEligibility: api.NodeSchedulingEligible,
		Events: []*api.NodeEvent{}, Drivers: map[string]*api.DriverInfo{},
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
