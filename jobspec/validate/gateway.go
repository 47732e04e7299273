package validate

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// gateway checks a Consul gateway.
// https://developer.hashicorp.com/nomad/docs/job-specification/gateway
func (c *checker) gateway(k *api.ConsulGateway, at jobspec.Path) {
	kinds := 0
	for _, has := range []bool{k.Ingress != nil, k.Terminating != nil, k.Mesh != nil} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		c.refuse(at, "gateway is one of ingress, terminating and mesh", fmt.Sprintf("the block has %d of them", kinds), "keep or add one")
	}
	if k.Proxy != nil {
		c.choice(at.Attr("proxy").Attr("envoy_dns_discovery_type"), "DNS discovery type", k.Proxy.EnvoyDNSDiscoveryType, "", "STRICT_DNS", "LOGICAL_DNS")
	}
	if k.Ingress != nil {
		at := at.Attr("ingress")
		if len(k.Ingress.Listeners) == 0 {
			c.refuse(at, "ingress gateway has no listener", "", "add listener { port = … }")
		}
		for i, l := range k.Ingress.Listeners {
			c.listener(orEmpty(l), at.Index("listener", i))
		}
	}
	if k.Terminating != nil {
		at := at.Attr("terminating")
		if len(k.Terminating.Services) == 0 {
			c.refuse(at, "terminating gateway has no service", "", "add service { name = … }")
		}
		for i, s := range k.Terminating.Services {
			c.linkedService(orEmpty(s), at.Index("service", i))
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
		c.refuse(at.Attr("port"), "listener has no port", fmt.Sprintf("port is %d", l.Port), "write 1 to 65535")
	}
	c.choice(at.Attr("protocol"), "protocol of a listener", l.Protocol, "tcp", "http", "http2", "grpc")
	if len(l.Services) == 0 {
		c.refuse(at, "listener has no service", "", "add service { name = … }")
	}
	for i, s := range l.Services {
		s, at := orEmpty(s), at.Index("service", i)
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

func (c *checker) linkedService(s *api.ConsulLinkedService, at jobspec.Path) {
	if s.Name == "" {
		c.refuse(at, "service of a gateway has no name", "", "add name = …")
	}
	if s.CAFile == "" && (s.CertFile != "" || s.KeyFile != "" || s.SNI != "") {
		c.refuse(at, "TLS needs a CA file", "cert_file, key_file or sni is set", "add ca_file = …")
	}
	if (s.CertFile == "") != (s.KeyFile == "") {
		c.refuse(at, "cert_file and key_file go together", "", "set both or neither")
	}
}
