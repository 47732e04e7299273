package httpapi

import (
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// An engine is a cluster of one, which no other server can talk to: it has an
// address of this machine without a port.
const (
	serverAddr = "127.0.0.1"
	serverRPC  = serverAddr + ":0"
)

// statusLeader answers GET /v1/status/leader.
func (s *Server) statusLeader(http.ResponseWriter, *request) (any, error) { return serverRPC, nil }

// statusPeers answers GET /v1/status/peers.
func (s *Server) statusPeers(http.ResponseWriter, *request) (any, error) {
	return []string{serverRPC}, nil
}

// agentServers answers GET /v1/agent/servers.
func (s *Server) agentServers(http.ResponseWriter, *request) (any, error) {
	return []string{serverRPC}, nil
}

// agentMembers answers GET /v1/agent/members.
func (s *Server) agentMembers(http.ResponseWriter, *request) (any, error) {
	n := s.cfg.Node
	member := s.member()
	return &api.ServerMembers{
		ServerName: n.Name, ServerRegion: n.Region, ServerDC: n.Datacenter, Members: []*api.AgentMember{&member},
	}, nil
}

func (s *Server) member() api.AgentMember {
	n := s.cfg.Node
	return api.AgentMember{
		Name: n.Name, Addr: serverAddr, Status: "alive",
		Tags: map[string]string{
			"region": n.Region, "dc": n.Datacenter, "port": "0", "build": "taskrun " + s.cfg.Version, "role": "taskrun",
		},
	}
}

// agentHealth answers GET /v1/agent/health: whoever gets an answer talks to an
// engine that works.
func (s *Server) agentHealth(_ http.ResponseWriter, r *request) (any, error) {
	ok := &api.AgentHealth{Ok: true, Message: "ok"}
	switch kind := r.query.Get("type"); kind {
	case "":
		return &api.AgentHealthResponse{Client: ok, Server: ok}, nil
	case "client":
		return &api.AgentHealthResponse{Client: ok}, nil
	case "server":
		return &api.AgentHealthResponse{Server: ok}, nil
	default:
		return nil, fail(http.StatusBadRequest, "invalid type %q: want client or server", kind)
	}
}

// namespaces are those of the jobs that run, and the default one.
func (s *Server) namespaces() []*api.Namespace {
	list := []*api.Namespace{{
		Name: api.DefaultNamespace, Description: "Default shared namespace", CreateIndex: firstIndex, ModifyIndex: firstIndex,
	}}
	seen := map[string]bool{api.DefaultNamespace: true}
	for _, j := range s.engine.Jobs() {
		if !seen[*j.Namespace] {
			seen[*j.Namespace] = true
			list = append(list, &api.Namespace{Name: *j.Namespace, CreateIndex: firstIndex, ModifyIndex: firstIndex})
		}
	}
	return list
}

// listNamespaces answers GET /v1/namespaces.
func (s *Server) listNamespaces(_ http.ResponseWriter, r *request) (any, error) {
	list := []*api.Namespace{}
	for _, n := range s.namespaces() {
		if strings.HasPrefix(n.Name, r.query.Get("prefix")) {
			list = append(list, n)
		}
	}
	return page(r, list, func(n *api.Namespace) string { return n.Name })
}

// getNamespace answers GET /v1/namespace/:name.
func (s *Server) getNamespace(_ http.ResponseWriter, r *request) (any, error) {
	for _, n := range s.namespaces() {
		if n.Name == r.id {
			return n, nil
		}
	}
	return nil, fail(http.StatusNotFound, "Namespace not found")
}
