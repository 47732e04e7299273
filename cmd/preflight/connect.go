package preflight

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/mesh"
)

// gatewayKind is the kind of the task of an ingress gateway, with the service.
const gatewayKind = "connect-ingress:"

func isGateway(t *api.Task) bool { return strings.HasPrefix(t.Kind, gatewayKind) }

// onlyGateways reports whether a group has no task but those of ingress gateways,
// which need no network of their own.
func onlyGateways(g *api.TaskGroup) bool {
	return !slices.ContainsFunc(g.Tasks, func(t *api.Task) bool { return !isGateway(t) })
}

// addGateways adds a task to the group of each ingress gateway, as a Nomad server
// does. It only keeps the allocation running: a forward carries the connections.
func addGateways(j *api.Job) {
	for _, g := range j.TaskGroups {
		for _, s := range g.Services {
			kind := gatewayKind + s.Name
			if s.Connect == nil || s.Connect.Gateway == nil || s.Connect.Gateway.Ingress == nil ||
				slices.ContainsFunc(g.Tasks, func(t *api.Task) bool { return t.Kind == kind }) {
				continue
			}
			t := &api.Task{
				Name: "connect-ingress-" + s.Name, Kind: kind, Driver: "mock_driver", Config: map[string]any{"run_for": "87600h"},
			}
			t.Canonicalize(g, j)
			g.Tasks = append(g.Tasks, t)
		}
	}
}

// addExposed adds the path of each check with expose to the proxy of its service,
// as a Nomad server does, and a port for it if the check has none. Without a port
// of the service that is known now, which Nomad refuses, the check stays as it
// is.
func addExposed(j *api.Job) {
	for _, g := range j.TaskGroups {
		if len(g.Networks) == 0 {
			continue
		}
		for _, s := range g.Services {
			port := mesh.FixedPort(s, g)
			if port == 0 || s.Connect == nil || s.Connect.SidecarService == nil {
				continue
			}
			for i := range s.Checks {
				if c := &s.Checks[i]; c.Expose && strings.HasPrefix(c.Path, "/") {
					exposeCheck(g, s, c, port)
				}
			}
		}
	}
}

func exposeCheck(g *api.TaskGroup, s *api.Service, c *api.ServiceCheck, port int) {
	if c.PortLabel == "" {
		sum := sha256.Sum256(fmt.Append(nil, s.Name, c.Name, c.Type, c.Path))
		c.PortLabel = fmt.Sprintf("svc_%s_ck_%x", s.Name, sum[:3])
		g.Networks[0].DynamicPorts = append(g.Networks[0].DynamicPorts, api.Port{Label: c.PortLabel, To: -1, HostNetwork: "default"})
	}
	sidecar := s.Connect.SidecarService
	sidecar.Proxy = cmp.Or(sidecar.Proxy, &api.ConsulProxy{})
	sidecar.Proxy.Expose = cmp.Or(sidecar.Proxy.Expose, &api.ConsulExposeConfig{})
	path := &api.ConsulExposePath{Path: c.Path, Protocol: c.Protocol, LocalPathPort: port, ListenerPort: c.PortLabel}
	if !slices.ContainsFunc(sidecar.Proxy.Expose.Paths, func(p *api.ConsulExposePath) bool { return *p == *path }) {
		sidecar.Proxy.Expose.Paths = append(sidecar.Proxy.Expose.Paths, path)
	}
}
