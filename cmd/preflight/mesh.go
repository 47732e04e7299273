package preflight

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/mesh"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// connects checks the connect blocks of all jobs, whose upstreams may share a
// network.
func connects(c *Case) jobspec.Diagnostics {
	m := meshes{Case: c, local: localServices(c.Files), led: map[place]lead{}}
	for _, f := range withJobs(c.Files) {
		m.listeners(f)
	}
	return perJob(func(_ *Case, f File) jobspec.Diagnostics { return m.check(f) })(c)
}

// meshes checks the connect blocks of a case.
type meshes struct {
	*Case

	local func(service string) bool // whether one of the jobs has a service
	led   map[place]lead            // that are in use
}

// place is an address in a network.
type place struct {
	network *api.TaskGroup // that has it; nil: that of this machine
	address string
}

// lead is the use of a place.
type lead struct {
	service string // that is reached there
	by      string // words for its user
}

// connect is a connect block with its surroundings.
type connect struct {
	*api.ConsulConnect

	service  *api.Service
	group    *api.TaskGroup
	networks []*api.TaskGroup // in which the group has tasks
	at       jobspec.Path
}

func (m *meshes) connects(f File) (list []connect) {
	for i, g := range f.Job.TaskGroups {
		networks := m.networks(g)
		for n, s := range g.Services {
			if s.Connect != nil {
				at := jobspec.Root.Index("group", i).Index("service", n).Attr("connect")
				list = append(list, connect{s.Connect, s, g, networks, at})
			}
		}
	}
	return list
}

// networks returns the networks in which a group has tasks: that of this machine,
// as nil, and its own.
func (m *meshes) networks(g *api.TaskGroup) (list []*api.TaskGroup) {
	inside, outside := byNetwork(g, m.Drivers)
	if len(outside) > 0 {
		list = append(list, nil)
	}
	if len(inside) > 0 && len(g.Networks) > 0 && g.Networks[0].Mode != "" && g.Networks[0].Mode != "host" {
		list = append(list, g)
	}
	return list
}

// listeners records where tasks listen themselves: a forward can have no such
// address. The static port of an ingress gateway is that of its forward.
func (m *meshes) listeners(f File) {
	for _, g := range f.Job.TaskGroups {
		gateways := ingressPorts(g)
		for _, network := range m.networks(g) {
			for _, s := range g.Services {
				if port := mesh.FixedPort(s, g); port > 0 && (s.Connect == nil || s.Connect.Gateway == nil) {
					m.led[local(network, port)] = lead{s.Name, fmt.Sprintf("service %q of group %q", s.Name, *g.Name)}
				}
			}
			if network != nil {
				continue
			}
			for _, n := range g.Networks {
				for _, p := range n.ReservedPorts {
					if at := local(nil, p.Value); m.led[at].by == "" && !gateways[p.Value] {
						m.led[at] = lead{"", fmt.Sprintf("port %q of group %q", p.Label, *g.Name)}
					}
				}
			}
		}
	}
}

// ingressPorts returns the ports of this machine that lead to listeners of
// ingress gateways of a group, as far as they are known.
func ingressPorts(g *api.TaskGroup) map[int]bool {
	ports := map[int]bool{}
	for _, s := range g.Services {
		if s.Connect != nil && s.Connect.Gateway != nil && s.Connect.Gateway.Ingress != nil {
			for _, l := range s.Connect.Gateway.Ingress.Listeners {
				ports[mesh.IngressPort(l.Port, g)] = true
			}
		}
	}
	return ports
}

// local returns a port of the loopback address of a network.
func local(network *api.TaskGroup, port int) place {
	return place{network, net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
}

func (m *meshes) check(f File) (diagnostics jobspec.Diagnostics) {
	plain := 0
	for _, k := range m.connects(f) {
		switch {
		case k.Gateway != nil && k.Gateway.Ingress != nil:
			plain++
			diagnostics = append(diagnostics, m.ingress(k)...)
		case k.Gateway != nil:
			diagnostics = append(diagnostics, foreignGateway(k))
		case k.SidecarService != nil:
			plain++
			diagnostics = append(diagnostics, m.sidecar(k)...)
		case k.Native && m.Entry&notices != 0:
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning, Summary: "connect native has no Consul: CONSUL_HTTP_ADDR names an agent of this machine, at 127.0.0.1:8500",
				Path: k.at.Attr("native"), Detail: "taskrun starts none; it has no certificates, and CONSUL_HTTP_TOKEN is that of the stubs",
			})
		}
		if plain == 1 && m.Entry&notices != 0 {
			plain++ // one notice is enough
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning, Summary: "there is no service mesh: upstreams are plain TCP connections", Path: k.at,
				Detail: "without mTLS and intentions; there are no proxy tasks",
			})
		}
	}
	return diagnostics
}

// foreignGateway refuses the gateways to other networks.
func foreignGateway(k connect) jobspec.Diagnostic {
	kind := "mesh"
	if k.Gateway.Terminating != nil {
		kind = "terminating"
	}
	return jobspec.Diagnostic{
		Summary: fmt.Sprintf("%s gateways are not supported", kind), Path: k.at.Attr("gateway").Attr(kind),
		Detail: "there is one machine and no mesh to leave or to join",
		Remedy: `remove the group; upstreams find services outside of it in the stubs: service "NAME" { address = … port = … }`,
	}
}

func (m *meshes) sidecar(k connect) (diagnostics jobspec.Diagnostics) {
	p := cmp.Or(k.SidecarService.Proxy, &api.ConsulProxy{})
	at := k.at.Attr("sidecar_service").Attr("proxy")
	if p.TransparentProxy != nil && m.Entry&notices != 0 {
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Severity: jobspec.Warning, Summary: "transparent_proxy has no effect: connections to virtual addresses are not redirected",
			Path: at.Attr("transparent_proxy"), Remedy: "name the services in upstreams",
		})
	}
	if len(p.Upstreams) > 0 && len(k.networks) == 0 && m.Entry&notices != 0 {
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Severity: jobspec.Warning, Summary: fmt.Sprintf("upstreams do not reach the tasks of group %q", *k.group.Name), Path: at.Index("upstreams", 0),
			Detail: "each container has a network of its own, where nothing listens; Nomad refuses the job", Remedy: `write mode = "bridge" in the network block of the group`,
		})
	}
	for i, u := range p.Upstreams {
		diagnostics = append(diagnostics, m.upstream(k, u, at.Index("upstreams", i))...)
	}
	return diagnostics
}

func (m *meshes) upstream(k connect, u *api.ConsulUpstream, at jobspec.Path) (diagnostics jobspec.Diagnostics) {
	add := func(severity jobspec.Severity, path jobspec.Path, summary, detail, remedy string) {
		diagnostics = append(diagnostics, jobspec.Diagnostic{Severity: severity, Path: path, Summary: summary, Detail: detail, Remedy: remedy})
	}
	host := cmp.Or(u.LocalBindAddress, "127.0.0.1")
	ip, err := netip.ParseAddr(host)
	switch {
	case u.LocalBindSocketPath != "":
		if m.Entry&notices != 0 {
			add(jobspec.Warning, at.Attr("local_bind_socket_path"), "local_bind_socket_path has no effect: there is no socket", "", "use local_bind_port")
		}
		return diagnostics
	case u.LocalBindPort < 1 || u.LocalBindPort > 65535:
		add(jobspec.Error, at, fmt.Sprintf("upstream %q has no local_bind_port", u.DestinationName), fmt.Sprintf("it is %d", u.LocalBindPort), "write 1 to 65535")
		return diagnostics
	case strings.Contains(host, "$"):
	case err != nil:
		add(jobspec.Error, at.Attr("local_bind_address"), "local_bind_address is not an IP address", fmt.Sprintf("%q", host), "remove it: the default is 127.0.0.1")
		return diagnostics
	default:
		for _, network := range k.networks {
			diagnostics = append(diagnostics, m.claim(k, network, u.DestinationName, ip, u.LocalBindPort, at, "choose another local_bind_port")...)
		}
	}
	return append(diagnostics, m.unknown(u.DestinationName, fmt.Sprintf("upstream %q", u.DestinationName), at)...)
}

// claim refuses an address of a network that leads somewhere else already. On
// this machine, groups share one that leads to the same service.
func (m *meshes) claim(k connect, network *api.TaskGroup, service string, ip netip.Addr, port int, at jobspec.Path, remedy string) jobspec.Diagnostics {
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	address := netip.AddrPortFrom(ip, uint16(port)).String()
	refuse := func(detail string) jobspec.Diagnostics {
		return jobspec.Diagnostics{{Summary: fmt.Sprintf("%s cannot lead to service %q", address, service), Detail: detail, Path: at, Remedy: remedy}}
	}
	used, ok := m.led[place{network, address}]
	switch {
	case ok && network != nil:
		return refuse("it is the address of " + used.by + ", in the same network: that of the group")
	case ok && used.service != service:
		return refuse("it is the address of " + used.by + ", in the same network: that of this machine")
	case ok:
		return nil
	}
	m.led[place{network, address}] = lead{service, fmt.Sprintf("an upstream of group %q, which leads to service %q", *k.group.Name, service)}
	if network != nil {
		return nil
	}
	for _, s := range m.Stubs.Services {
		if s.Name == service && net.JoinHostPort(s.Address, strconv.Itoa(s.Port)) == address {
			return nil // no forward is needed
		}
	}
	if m.Taken == nil {
		return nil
	}
	if err := m.Taken(port); err != nil {
		return refuse(err.Error())
	}
	return nil
}

// unknown finds destinations that neither a job nor a stub offers, nor anything
// that runs now.
func (m *meshes) unknown(service, words string, at jobspec.Path) jobspec.Diagnostics {
	if m.StubsBroken || m.Entry&(Validate|Plan|APIValidate) != 0 || m.local(service) || strings.Contains(service, "$") ||
		slices.ContainsFunc(m.Stubs.Services, func(s stub.Service) bool { return s.Name == service }) ||
		len(m.Stubs.Unfilled(stub.Need{Kind: stub.ServiceBlock, Label: service}, false)) > 0 { // reported by unfilled
		return nil
	}
	if m.Services != nil {
		for _, i := range m.Services.Instances() {
			if i.ServiceName == service {
				return nil
			}
		}
	}
	p := jobspec.Diagnostic{
		Severity: jobspec.Warning, Path: at, Summary: fmt.Sprintf("%s needs service %q, which is not running here: no stub defines it", words, service),
		Detail: "its connections are closed", Remedy: addTo(m.Stubs, stub.Need{Kind: stub.ServiceBlock, Label: service}),
	}
	if m.Entry == Rehearse {
		p.Severity = jobspec.Error
	}
	return jobspec.Diagnostics{p}
}

func (m *meshes) ingress(k connect) (diagnostics jobspec.Diagnostics) {
	for i, l := range k.Gateway.Ingress.Listeners {
		at := k.at.Attr("gateway").Attr("ingress").Index("listener", i)
		if len(l.Services) == 0 || l.Port < 1 || l.Port > 65535 {
			continue // refused already
		}
		name := l.Services[0].Name
		if name == "*" {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: "a listener for all services is not supported", Path: at, Detail: "a forward leads to one service", Remedy: "name the service",
			})
			continue
		}
		if len(l.Services) > 1 && m.Entry&notices != 0 {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning, Path: at, Summary: fmt.Sprintf("the listener at port %d leads to service %q only", l.Port, name),
				Detail: "requests are not read, so their host decides nothing", Remedy: "add a listener for each service",
			})
		}
		port := mesh.IngressPort(l.Port, k.group)
		if port > 0 {
			diagnostics = append(diagnostics, m.claim(k, nil, name, netip.AddrFrom4([4]byte{127, 0, 0, 1}), port, at, "choose another port")...)
		}
		diagnostics = append(diagnostics, m.unknown(name, fmt.Sprintf("the listener at port %d", l.Port), at)...)
	}
	return diagnostics
}
