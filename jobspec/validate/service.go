package validate

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const (
	providerConsul = api.ServiceProviderConsul
	providerNomad  = "nomad"
)

// service checks what holds for a service wherever it stands.
// https://developer.hashicorp.com/nomad/docs/job-specification/service
func (c *checker) service(s *api.Service, at jobspec.Path) {
	if !isServiceName(replaceReferences(s.Name, "ENV-VAR")) {
		c.refuse(at.Attr("name"), "invalid service name", fmt.Sprintf("%q", s.Name), "write 1 to 63 letters, digits and dashes, with no dash at the ends (RFC 1123)")
	}
	modes := []string{"", "auto", "host", "driver", "alloc", "alloc_ipv6"}
	if c.choice(at.Attr("address_mode"), "address mode", s.AddressMode, modes...) && s.Address != "" && s.AddressMode != "" && s.AddressMode != "auto" {
		c.refuse(at.Attr("address_mode"), "an address of its own needs address_mode auto",
			fmt.Sprintf("address is %q and address_mode is %q", s.Address, s.AddressMode), `write address_mode = "auto" or remove address`)
	}
	c.choice(at.Attr("on_update"), "on_update value", s.OnUpdate, onUpdates()...)
	c.choice(at.Attr("provider"), "service provider", s.Provider, providerConsul, providerNomad)
	if s.Identity != nil {
		if len(s.Identity.Audience) == 0 {
			c.refuse(at.Attr("identity"), "identity of a service has no audience", "", `add aud = ["NAME"]`)
		}
		c.identityAdvice(s.Identity, at.Attr("identity"))
	}
	if s.Provider == providerConsul {
		c.choice(at.Attr("kind"), "service kind", s.Kind, "", "api-gateway", "ingress-gateway", "mesh-gateway", "terminating-gateway")
	}
	for i := range s.Checks {
		c.check(s, &s.Checks[i], at.Index("check", i))
	}
}

func onUpdates() []string {
	return []string{"", api.OnUpdateRequireHealthy, api.OnUpdateIgnoreWarn, api.OnUpdateIgnore}
}

// services checks the services of the group, and what holds between all services
// of the group and its tasks.
func (g *group) services() {
	for i, s := range g.tg.Services {
		g.groupService(orEmpty(s), g.at.Index("service", i))
	}
	g.serviceIDs()
	g.oneProvider()
}

// eachService visits the services of the group, owner "", and of its tasks.
func (g *group) eachService(visit func(owner string, s *api.Service, at jobspec.Path)) {
	for i, s := range g.tg.Services {
		visit("", orEmpty(s), g.at.Index("service", i))
	}
	for i, t := range g.tg.Tasks {
		t := orEmpty(t)
		for j, s := range t.Services {
			visit(t.Name, orEmpty(s), g.at.Index("task", i).Index("service", j))
		}
	}
}

// serviceIDs refuses two services of one owner that would be registered under
// one ID, which is made of name and port.
func (g *group) serviceIDs() {
	type id struct{ owner, name, port string }
	seen := map[id]bool{}
	g.eachService(func(owner string, s *api.Service, at jobspec.Path) {
		key := id{owner, s.Name, s.PortLabel}
		if seen[key] {
			g.refuse(at, fmt.Sprintf("service %q is defined twice", s.Name), fmt.Sprintf("with the same port %q", s.PortLabel), "give one of them another name or port")
		}
		seen[key] = true
	})
}

func (g *group) oneProvider() {
	first := ""
	g.eachService(func(_ string, s *api.Service, at jobspec.Path) {
		if first == "" {
			first = s.Provider
		}
		if s.Provider != first {
			g.refuse(at.Attr("provider"), "services of a group share one provider",
				fmt.Sprintf("service %q has %q and others of group %q have %q", s.Name, s.Provider, g.name, first), "write the same provider in all of them")
		}
	})
}

// isServiceName tells whether a name can be a DNS label.
func isServiceName(name string) bool {
	if len(name) < 1 || len(name) > 63 || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
