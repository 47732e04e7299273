package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// connect checks the mesh part of a group's service.
// https://developer.hashicorp.com/nomad/docs/job-specification/connect
func (g *group) connect(s *api.Service, service jobspec.Path) {
	k, at := s.Connect, service.Attr("connect")
	if s.Provider == providerNomad {
		g.refuse(at, "connect needs provider consul", `the service's provider is "nomad"`, `write provider = "consul" in the service`)
	}
	g.oneOf(at, "connect is one of native, sidecar_service and gateway", k.Native, k.SidecarService != nil, k.Gateway != nil)
	if k.Native {
		if s.TaskName == "" && len(g.tg.Tasks) != 1 {
			g.refuse(service, "connect native needs a task", fmt.Sprintf("group %q has %d tasks", g.name, len(g.tg.Tasks)), "add task = … to the service")
		}
		if s.PortLabel == "" {
			g.refuse(service, "connect native needs a port", "", "add port = … to the service")
		}
	}
	if k.SidecarService != nil && k.SidecarService.Proxy != nil {
		g.proxy(k.SidecarService.Proxy, at.Attr("sidecar_service").Attr("proxy"))
	}
	if k.Gateway != nil {
		g.gateway(k.Gateway, at.Attr("gateway"))
	}
}

func (c *checker) proxy(p *api.ConsulProxy, at jobspec.Path) {
	t := p.TransparentProxy
	if t == nil {
		return
	}
	at = at.Attr("transparent_proxy")
	for _, cidr := range t.ExcludeOutboundCIDRs {
		if _, err := netip.ParsePrefix(cidr); err != nil {
			c.wrong(at.Attr("exclude_outbound_cidrs"), "invalid CIDR", fmt.Sprintf("%q", cidr), `write a prefix such as "10.0.0.0/8"`)
		}
	}
	c.userID(at.Attr("uid"), t.UID)
	for _, uid := range t.ExcludeUIDs {
		c.userID(at.Attr("exclude_uids"), uid)
	}
}

func (c *checker) userID(at jobspec.Path, uid string) {
	if _, err := strconv.ParseUint(uid, 10, 16); uid != "" && err != nil {
		c.wrong(at, "invalid user ID", fmt.Sprintf("%q", uid), "write a number from 0 to 65535")
	}
}

// gateway checks a Consul gateway.
// https://developer.hashicorp.com/nomad/docs/job-specification/gateway
func (c *checker) gateway(k *api.ConsulGateway, at jobspec.Path) {
	c.oneOf(at, "gateway is one of ingress, terminating and mesh", k.Ingress != nil, k.Terminating != nil, k.Mesh != nil)
	if k.Proxy != nil {
		c.choice(at.Attr("proxy").Attr("envoy_dns_discovery_type"), "DNS discovery type", k.Proxy.EnvoyDNSDiscoveryType, "", "STRICT_DNS", "LOGICAL_DNS")
	}
	if k.Ingress != nil {
		at := at.Attr("ingress")
		if len(k.Ingress.Listeners) == 0 {
			c.refuse(at, "ingress gateway has no listener", "", "add listener { port = … }")
		}
		for l, at := range blocks(k.Ingress.Listeners, "listener", at) {
			c.listener(l, at)
		}
	}
	if k.Terminating != nil {
		at := at.Attr("terminating")
		if len(k.Terminating.Services) == 0 {
			c.refuse(at, "terminating gateway has no service", "", "add service { name = … }")
		}
		for s, at := range blocks(k.Terminating.Services, "service", at) {
			c.required(at, s.Name, "service of a gateway has no name", "add name = …")
			if s.CAFile == "" && (s.CertFile != "" || s.KeyFile != "" || s.SNI != "") {
				c.refuse(at, "TLS needs a CA file", "cert_file, key_file or sni is set", "add ca_file = …")
			}
			if (s.CertFile == "") != (s.KeyFile == "") {
				c.refuse(at, "cert_file and key_file go together", "", "set both or neither")
			}
		}
	}
}

func (g *group) hasGateway() bool {
	return slices.ContainsFunc(g.tg.Services, func(s *api.Service) bool {
		return s != nil && s.Connect != nil && s.Connect.Gateway != nil
	})
}

func (c *checker) listener(l *api.ConsulIngressListener, at jobspec.Path) {
	if l.Port <= 0 {
		c.wrong(at.Attr("port"), "listener has no port", fmt.Sprintf("port is %d", l.Port), "write 1 to 65535")
	}
	c.choice(at.Attr("protocol"), "protocol of a listener", l.Protocol, "tcp", "http", "http2", "grpc")
	if len(l.Services) == 0 {
		c.refuse(at, "listener has no service", "", "add service { name = … }")
	}
	for s, at := range blocks(l.Services, "service", at) {
		switch {
		case s.Name == "":
			c.refuse(at, "service of a listener has no name", "", "add name = …")
		case l.Protocol == "tcp" && s.Name == "*":
			c.refuse(at.Attr("name"), "a tcp listener has no wildcard service", "", "name the service")
		case l.Protocol == "tcp" && len(s.Hosts) > 0:
			c.refuse(at.Attr("hosts"), "a tcp listener has no hosts", "", "remove them")
		case s.Name == "*" && len(s.Hosts) > 0:
			c.refuse(at.Attr("hosts"), "a wildcard service has no hosts", "", "remove them or name the service")
		}
	}
}

// connectProxy checks a task that an API client has declared as a sidecar
// proxy.
func (t *task) connectProxy() {
	service, ok := strings.CutPrefix(t.t.Kind, "connect-proxy:")
	if !ok || service == "" {
		return
	}
	at := t.at.Attr("kind")
	if len(t.t.Services) > 0 {
		t.refuse(at, "a connect proxy has no services", fmt.Sprintf("kind is %q", t.t.Kind), "move them to the group")
	}
	if t.t.Leader {
		t.refuse(at, "a connect proxy cannot be the leader", fmt.Sprintf("kind is %q", t.t.Kind), "remove leader")
	}
	if !slices.ContainsFunc(t.g.tg.Services, func(s *api.Service) bool {
		return s != nil && s.Name == service && s.Connect != nil && s.Connect.SidecarService != nil
	}) {
		t.refuse(at, fmt.Sprintf("service %q has no sidecar", service), fmt.Sprintf("kind is %q", t.t.Kind), "add a connect block with sidecar_service {} to the service")
	}
}
