package node

import (
	"cmp"
	"net"
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// serverAddr is the address of the only server. Other servers cannot talk to it.
const serverAddr = "127.0.0.1"

// rpc returns the address of the server. Nothing listens at a port for other
// servers: it is that of the API, or 0.
func (h *Handler) rpc() string { return net.JoinHostPort(serverAddr, h.rpcPort()) }

func (h *Handler) rpcPort() string { return strconv.Itoa(cmp.Or(h.cfg.Ports.RPC, h.cfg.Ports.HTTP)) }

// Leader answers GET /v1/status/leader.
func (h *Handler) Leader(*rest.Request) (any, error) { return h.rpc(), nil }

// Peers answers GET /v1/status/peers and GET /v1/agent/servers.
func (h *Handler) Peers(*rest.Request) (any, error) { return []string{h.rpc()}, nil }

// Members answers GET /v1/agent/members.
func (h *Handler) Members(*rest.Request) (any, error) {
	n := h.run.Machine
	member := h.member()
	return &api.ServerMembers{
		ServerName: n.Name, ServerRegion: n.Region, ServerDC: n.Datacenter, Members: []*api.AgentMember{&member},
	}, nil
}

// nomadVersion returns the version of Nomad whose API this is. Clients compare
// it.
func (h *Handler) nomadVersion() string {
	version, _ := h.run.Machine.Attribute("nomad.version")
	return cmp.Or(version, "0.0.0")
}

// build returns the version of taskrun as the metadata of a version.
func (h *Handler) build() string { return "taskrun." + h.cfg.Version }

func (h *Handler) member() api.AgentMember {
	n := h.run.Machine
	return api.AgentMember{
		Name: n.Name + "." + n.Region, Addr: serverAddr, Port: uint16(cmp.Or(h.cfg.Ports.Serf, h.cfg.Ports.HTTP)), Status: "alive",
		Tags: map[string]string{
			"id": n.ID, "region": n.Region, "dc": n.Datacenter, "rpc_addr": serverAddr, "port": h.rpcPort(),
			"build": h.nomadVersion() + "+" + h.build(), "role": "taskrun", "bootstrap": "1", "expect": "1", "raft_vsn": "3", "vsn": "1",
		},
		ProtocolMin: 1, ProtocolMax: 5, ProtocolCur: 2, DelegateMin: 2, DelegateMax: 5, DelegateCur: 4,
	}
}

// Health answers GET /v1/agent/health: an engine that answers is
// healthy.
func (h *Handler) Health(r *rest.Request) (any, error) {
	ok := &api.AgentHealth{Ok: true, Message: "ok"}
	switch kind := r.Query.Get("type"); kind {
	case "":
		return &api.AgentHealthResponse{Client: ok, Server: ok}, nil
	case "client":
		return &api.AgentHealthResponse{Client: ok}, nil
	case "server":
		return &api.AgentHealthResponse{Server: ok}, nil
	default:
		return nil, rest.Fail(http.StatusBadRequest, "invalid type %q: want client or server", kind)
	}
}
