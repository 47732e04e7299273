package node

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// Pools answers GET /v1/node/pools.
func (h *Handler) Pools(r *rest.Request) (any, error) {
	list := []*api.NodePool{}
	for _, p := range h.run.Pools() {
		if strings.HasPrefix(p.Name, r.Query.Get("prefix")) {
			list = append(list, p)
		}
	}
	return rest.Page(r, list, func(p *api.NodePool) string { return p.Name })
}

// Pool answers GET /v1/node/pool/:name.
func (h *Handler) Pool(r *rest.Request) (any, error) {
	for _, p := range h.run.Pools() {
		if p.Name == r.ID {
			return p, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "node pool not found")
}
