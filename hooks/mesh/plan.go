package mesh

import (
	"cmp"
	"fmt"
	"net"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
	"taskrun/jobspec/taskenv"
)

// SidecarSuffix is the suffix that Consul appends to the name and the ID of a
// service for its sidecar.
const SidecarSuffix = "-sidecar-proxy"

// localhost is where a sidecar listens and where its service does, by default.
const localhost = "127.0.0.1"

// anywhere is all addresses of a network.
const anywhere = "0.0.0.0"

// plan holds the requirements of the connect blocks of a group.
type plan struct {
	upstreams []upstream
	sidecars  []sidecar
	exposed   []exposed
	gateways  []gateway
}

// endpoint is where something listens.
type endpoint struct {
	host string
	port int
}

func (e endpoint) String() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// upstream is an address that leads to a service.
type upstream struct {
	of          string // the service that needs it
	destination string
	at          endpoint
}

// sidecar is the proxy in front of a service of the group.
type sidecar struct {
	of    string // the service
	id    string
	task  string   // that provides the service; may be empty
	port  string   // label of its own port; empty: any
	local endpoint // of the service, in the network of its task
	tags  []string
	meta  map[string]string
}

// exposed is a port of the group that leads to one of a task.
type exposed struct {
	task  string
	port  taskenv.Port
	local endpoint
}

// gateway is a listener of an ingress gateway.
type gateway struct {
	upstream

	inside int // its port if the group has a network of its own; 0: no port leads there
}

// newPlan reads the connect blocks of a group.
func newPlan(alloc string, g *api.TaskGroup, ports []taskenv.Port, env *taskenv.Env) (p plan, err error) {
	for _, s := range g.Services {
		switch {
		case s.Connect == nil:
		case s.Connect.SidecarService != nil:
			err = p.addSidecar(alloc, g, s, ports, env)
		case s.Connect.Gateway != nil && s.Connect.Gateway.Ingress != nil:
			p.addGateway(s, ports, env)
		}
		if err != nil {
			return plan{}, fmt.Errorf("service %q: %w", env.Replace(s.Name), err)
		}
	}
	return p, nil
}

func (p *plan) addSidecar(alloc string, g *api.TaskGroup, s *api.Service, ports []taskenv.Port, env *taskenv.Env) error {
	spec, name := s.Connect.SidecarService, env.Replace(s.Name)
	proxy := cmp.Or(spec.Proxy, &api.ConsulProxy{})
	port := proxy.LocalServicePort
	if port == 0 {
		port = portOf(env.Replace(s.PortLabel), ports)
	}
	renamed := *s
	renamed.Name, renamed.PortLabel = name, env.Replace(s.PortLabel)
	host := cmp.Or(env.Replace(proxy.LocalServiceAddress), localhost)
	p.sidecars = append(p.sidecars, sidecar{
		of: name, task: s.TaskName, port: env.Replace(spec.Port), tags: env.ReplaceAll(spec.Tags), meta: env.ReplaceMap(spec.Meta),
		id:    service.RegistrationID(alloc, *g.Name, "", &renamed) + SidecarSuffix,
		local: endpoint{host, port},
	})
	for _, u := range proxy.Upstreams {
		if u.LocalBindSocketPath == "" {
			p.upstreams = append(p.upstreams, upstream{
				of: name, destination: env.Replace(u.DestinationName),
				at: endpoint{cmp.Or(env.Replace(u.LocalBindAddress), localhost), u.LocalBindPort},
			})
		}
	}
	if proxy.Expose == nil {
		return nil
	}
	for _, e := range proxy.Expose.Paths {
		port, ok := service.Labeled(env.Replace(e.ListenerPort), ports)
		if !ok {
			return fmt.Errorf("the group has no port %q, at which a path is exposed", e.ListenerPort)
		}
		p.exposed = append(p.exposed, exposed{s.TaskName, port, endpoint{host, e.LocalPathPort}})
	}
	return nil
}

// addGateway adds the listeners of an ingress gateway. A forward cannot choose
// between services by the host of a request, so it takes the first one.
func (p *plan) addGateway(s *api.Service, ports []taskenv.Port, env *taskenv.Env) {
	for _, l := range s.Connect.Gateway.Ingress.Listeners {
		if len(l.Services) == 0 {
			continue
		}
		g := gateway{upstream: upstream{
			of: env.Replace(s.Name), destination: env.Replace(l.Services[0].Name), at: endpoint{localhost, l.Port},
		}}
		for _, mapped := range ports {
			if mapped.Bind() == l.Port {
				g.at, g.inside = endpoint{cmp.Or(mapped.HostIP, localhost), mapped.Value}, l.Port
			}
		}
		p.gateways = append(p.gateways, g)
	}
}

// IngressPort returns the port of this machine that leads to a listener of an
// ingress gateway, or 0 if it is only known once the group has its ports.
func IngressPort(listener int, g *api.TaskGroup) int {
	for _, n := range g.Networks {
		for _, p := range n.ReservedPorts {
			if p.Value == listener && p.To <= 0 || p.To == listener {
				return p.Value
			}
		}
		for _, p := range n.DynamicPorts {
			if p.To == listener {
				return 0
			}
		}
	}
	return listener
}

// FixedPort returns the port that the tasks of a service bind on this machine, or
// 0 if it is only known once the group has its ports.
func FixedPort(s *api.Service, g *api.TaskGroup) int {
	if k := s.Connect; k != nil && k.SidecarService != nil && k.SidecarService.Proxy != nil && k.SidecarService.Proxy.LocalServicePort > 0 {
		return k.SidecarService.Proxy.LocalServicePort
	}
	var static []taskenv.Port
	for _, n := range g.Networks {
		for _, p := range n.ReservedPorts {
			static = append(static, taskenv.Port{Label: p.Label, Value: p.Value, To: p.To})
		}
	}
	return portOf(s.PortLabel, static)
}

// portOf returns the port that a task binds for a label or a number; 0 if it is
// neither.
func portOf(label string, ports []taskenv.Port) int {
	if p, ok := service.Labeled(label, ports); ok {
		return p.Bind()
	}
	number, _ := strconv.Atoi(label)
	return number
}
