package validate

import (
	"fmt"
	"net/netip"
	"strconv"

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
	kinds := 0
	for _, has := range []bool{k.Native, k.SidecarService != nil, k.Gateway != nil} {
		if has {
			kinds++
		}
	}
	if kinds != 1 {
		g.refuse(at, "connect is one of native, sidecar_service and gateway", fmt.Sprintf("the block has %d of them", kinds), "keep or add one")
	}
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
			c.refuse(at.Attr("exclude_outbound_cidrs"), "invalid CIDR", fmt.Sprintf("%q", cidr), `write a prefix such as "10.0.0.0/8"`)
		}
	}
	c.userID(t.UID, at.Attr("uid"))
	for _, uid := range t.ExcludeUIDs {
		c.userID(uid, at.Attr("exclude_uids"))
	}
}

func (c *checker) userID(uid string, at jobspec.Path) {
	if _, err := strconv.ParseUint(uid, 10, 16); uid != "" && err != nil {
		c.refuse(at, "invalid user ID", fmt.Sprintf("%q", uid), "write a number from 0 to 65535")
	}
}
