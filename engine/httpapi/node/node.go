package node

import (
	"net/http"

	"taskrun/engine/httpapi/rest"
)

// Get answers GET /v1/node/:id.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if r.ID != h.run.Machine.ID {
		return nil, rest.Fail(http.StatusNotFound, "node not found")
	}
	return h.run.Node(r.Context()), nil
}

// Refuse answers orders for a node.
func (h *Handler) Refuse(r *rest.Request) error {
	if r.ID != h.run.Machine.ID {
		return rest.Fail(http.StatusNotFound, "node not found")
	}
	return rest.Fail(http.StatusNotImplemented, "not supported by taskrun: there is no other node to which allocations could go; stop the job to be rid of them")
}

// ReconcileSummaries answers PUT /v1/system/reconcile/summaries: summaries are
// counted whenever somebody asks for one.
func (h *Handler) ReconcileSummaries(r *rest.Request) error { return r.Nothing() }
