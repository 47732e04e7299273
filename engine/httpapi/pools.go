package httpapi

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// pools are Nomad's own, and that of this machine.
func (s *Server) pools() []*api.NodePool {
	list := []*api.NodePool{
		{Name: "all", Description: "Node pool with all nodes in the cluster.", CreateIndex: firstIndex, ModifyIndex: firstIndex},
		{Name: "default", Description: "Default node pool.", CreateIndex: firstIndex, ModifyIndex: firstIndex},
	}
	if own := s.cfg.Node.Pool; own != "" && own != "default" && own != "all" {
		list = append(list, &api.NodePool{Name: own, CreateIndex: firstIndex, ModifyIndex: firstIndex})
	}
	return list
}

// listPools answers GET /v1/node/pools.
func (s *Server) listPools(_ http.ResponseWriter, r *request) (any, error) {
	list := []*api.NodePool{}
	for _, p := range s.pools() {
		if strings.HasPrefix(p.Name, r.query.Get("prefix")) {
			list = append(list, p)
		}
	}
	return page(r, list, func(p *api.NodePool) string { return p.Name })
}

// getPool answers GET /v1/node/pool/:name.
func (s *Server) getPool(_ http.ResponseWriter, r *request) (any, error) {
	for _, p := range s.pools() {
		if p.Name == r.id {
			return p, nil
		}
	}
	return nil, fail(http.StatusNotFound, "node pool not found")
}
