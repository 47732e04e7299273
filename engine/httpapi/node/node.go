package node

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Get answers GET /v1/node/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if err := rest.CheckID("node lookup failed: ", r.ID); err != nil {
		return nil, err
	}
	if r.ID != h.run.Machine.ID {
		return nil, rest.Fail(http.StatusNotFound, "node not found")
	}
	return h.run.Node(r.Context()), nil
}

// Refuse refuses orders for a node.
func (h *Handler) Refuse(r *rest.Request) error {
	if r.ID != h.run.Machine.ID {
		return rest.Fail(http.StatusNotFound, "node not found")
	}
	return rest.Fail(http.StatusNotImplemented, "not supported by taskrun: there is no other node for allocations; stop the job instead")
}

// ReconcileSummaries answers PUT /v1/system/reconcile/summaries. There is
// nothing to do: summaries are computed for each request.
func (h *Handler) ReconcileSummaries(r *rest.Request) error { return r.Nothing() }

// List answers GET /v1/nodes: this machine.
func (h *Handler) List(r *rest.Request) (any, error) {
	resources, err := r.Flag("resources")
	if err != nil {
		return nil, err
	}
	withOS, err := r.Flag("os")
	if err != nil {
		return nil, err
	}
	prefix, err := r.IDPrefix("node lookup failed: ")
	if err != nil {
		return nil, err
	}
	var nodes []*api.Node
	if n := h.run.Node(r.Context()).Node; strings.HasPrefix(rest.PlainID(n.ID), prefix) {
		nodes = append(nodes, n)
	}
	// Filters are for whole nodes, as in Nomad.
	if nodes, err = rest.Page(r, nodes, func(n *api.Node) string { return n.ID }); err != nil {
		return nil, err
	}
	list := []*api.NodeListStub{}
	for _, n := range nodes {
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
	return list, nil
}
