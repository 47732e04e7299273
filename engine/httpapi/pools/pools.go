// Package pools serves node pools. See
// https://developer.hashicorp.com/nomad/api-docs/node-pools.
package pools

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/registry"
)

// Handler serves node pools.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

const (
	maxBody        = 64 << 10 // bytes
	maxName        = 128
	maxDescription = 256
)

// pool is a node pool as a server writes it: with durations in nanoseconds.
type pool api.NodePool

// List answers GET /v1/node/pools.
func (h *Handler) List(r *rest.Request) (any, error) {
	list := []*pool{}
	for _, p := range h.run.Pools() {
		if strings.HasPrefix(p.Name, r.Query.Get("prefix")) {
			list = append(list, (*pool)(p))
		}
	}
	return rest.Page(r, list, func(p *pool) string { return p.Name })
}

// Get answers GET /v1/node/pool/:name.
func (h *Handler) Get(r *rest.Request) (any, error) {
	if p := h.run.Engine.Registry().Pools.Get(r.ID); p != nil {
		return (*pool)(p), nil
	}
	return nil, rest.Fail(http.StatusNotFound, "node pool not found")
}

// Put answers PUT /v1/node/pools and /v1/node/pool/:name.
func (h *Handler) Put(r *rest.Request) (uint64, error) {
	var p api.NodePool
	if err := r.DecodeUpTo(maxBody, &p); err != nil {
		return 0, err
	}
	if r.ID != "" && r.ID != p.Name {
		return 0, rest.Fail(http.StatusBadRequest, "Node pool name does not match request path")
	}
	if p.SchedulerConfiguration != nil {
		return 0, errors.New(`Feature "Node Pools Governance" is unlicensed`) //nolint:staticcheck // Nomad's words, without Nomad Enterprise
	}
	var wrong []string
	if !rest.IsName(p.Name, maxName, "-_") {
		wrong = append(wrong, fmt.Sprintf("invalid name %q, must match regex ^[a-zA-Z0-9-_]{1,128}$", p.Name))
	}
	if len(p.Description) > maxDescription {
		wrong = append(wrong, fmt.Sprintf("description longer than %d", maxDescription))
	}
	if len(wrong) > 0 {
		return 0, rest.Fail(http.StatusBadRequest, "invalid node pool %q: %s", p.Name, rest.Several(wrong))
	}
	if isBuiltIn(p.Name) {
		return 0, rest.Fail(http.StatusBadRequest, "modifying node pool %q is not allowed", p.Name)
	}
	if p.NodeIdentityTTL == 0 {
		p.NodeIdentityTTL = registry.NodeIdentityTTL
	}
	return h.run.Engine.Registry().Pools.Put(p.Name, &p)
}

func isBuiltIn(name string) bool { return name == api.NodePoolAll || name == api.NodePoolDefault }

// Delete answers DELETE /v1/node/pool/:name. A pool that is in use stays.
func (h *Handler) Delete(r *rest.Request) (uint64, error) {
	var used []string
	region := h.run.Machine.Region
	if slices.ContainsFunc(h.run.Look().Jobs, func(j *api.Job) bool { return j.NodePool != nil && *j.NodePool == r.ID && *j.Status != "dead" }) {
		used = append(used, fmt.Sprintf("node pool %q has non-terminal jobs in regions: [%s]", r.ID, region))
	}
	if h.run.Machine.Pool == r.ID {
		used = append(used, fmt.Sprintf("node pool %q has nodes in regions: [%s]", r.ID, region))
	}
	if len(used) > 0 {
		return 0, errors.New(rest.Several(used))
	}
	return h.run.Engine.Registry().Pools.Change(r.ID, func(was *api.NodePool) (*api.NodePool, error) {
		switch {
		case was == nil:
			return nil, fmt.Errorf("node pool %s not found", r.ID)
		case isBuiltIn(r.ID):
			return nil, fmt.Errorf("deleting node pool %q is not allowed", r.ID)
		}
		return nil, nil
	})
}
