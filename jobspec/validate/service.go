package validate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// service applies the rules for services of groups and tasks.
// https://developer.hashicorp.com/nomad/docs/job-specification/service
func (c *checker) service(s *api.Service, at jobspec.Path) {
	if !IsServiceName(replaceReferences(s.Name, "ENV-VAR")) {
		c.wrong(at.Attr("name"), "invalid service name", fmt.Sprintf("%q", s.Name), "write 1 to 63 letters, digits and dashes, with no dash at the ends (RFC 1123)")
	}
	modes := []string{"", "auto", "host", "driver", "alloc", "alloc_ipv6"}
	if c.choice(at.Attr("address_mode"), "address mode", s.AddressMode, modes...) && s.Address != "" && s.AddressMode != "" && s.AddressMode != "auto" {
		c.refuse(at.Attr("address_mode"), `an "address" needs address_mode auto`,
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
		(&check{c, &s.Checks[i], s, at.Index("check", i)}).check()
	}
}

// services checks the services of the group, and the rules between all services
// of the group and its tasks.
func (g *group) services() {
	for s, at := range blocks(g.tg.Services, "service", g.at) {
		g.groupService(s, at)
	}
	g.serviceIDs()
	g.oneProvider()
}

// groupService applies the rules for services of groups only.
func (g *group) groupService(s *api.Service, at jobspec.Path) {
	g.service(s, at)
	if s.AddressMode == "driver" {
		g.refuse(at.Attr("address_mode"), "address_mode driver is for services of a task", "", "move the service into the task, or write another mode")
	}
	if s.TaskName != "" && !g.hasTask(s.TaskName) {
		g.warn(at.Attr("task"), fmt.Sprintf("task %q is not defined", s.TaskName), fmt.Sprintf("group %q has no such task", g.name), diagnostic.DidYouMean(s.TaskName, g.taskNames()))
	}
	g.portReference(s.PortLabel, at.Attr("port"))
	for i := range s.Checks {
		g.groupCheck(s, &s.Checks[i], at.Index("check", i))
	}
	if s.Connect != nil {
		g.connect(s, at)
	}
}

func (g *group) groupCheck(s *api.Service, k *api.ServiceCheck, at jobspec.Path) {
	switch {
	case k.TaskName == "" && s.TaskName == "" && k.Type == checkScript:
		g.refuse(at, "script check names no task", "the script runs inside a task", "add task = … to the check or its service")
	case k.TaskName != "" && !g.hasTask(k.TaskName):
		g.refuse(at.Attr("task"), fmt.Sprintf("task %q is not defined", k.TaskName),
			fmt.Sprintf("group %q has no such task", g.name), diagnostic.DidYouMean(k.TaskName, g.taskNames()))
	}
	if k.TaskName != "" && k.AddressMode == "driver" {
		g.refuse(at.Attr("address_mode"), "address_mode driver is for services of a task", "", "move the service into the task, or write another mode")
	}
	if !k.Expose { // Nomad creates the port of such a check
		g.portReference(k.PortLabel, at.Attr("port"))
	}
}

// portReference refuses the label of a port that the group does not have: Nomad
// accepts it, and the allocation fails when the service is registered. Numbers,
// and references that are only known at run time, are accepted.
func (g *group) portReference(label string, at jobspec.Path) {
	if _, err := strconv.Atoi(label); label == "" || err == nil || strings.Contains(label, "${") || slices.Contains(g.ports.group, label) {
		return
	}
	g.missingPort(label, g.ports.group, at)
}

// eachService visits the services of the group, with owner "", and of its
// tasks.
func (g *group) eachService(visit func(owner string, s *api.Service, at jobspec.Path)) {
	for s, at := range blocks(g.tg.Services, "service", g.at) {
		visit("", s, at)
	}
	for t, at := range blocks(g.tg.Tasks, "task", g.at) {
		for s, at := range blocks(t.Services, "service", at) {
			visit(t.Name, s, at)
		}
	}
}

// serviceIDs refuses two services of one owner with the same registration ID,
// which consists of name and port.
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

// IsServiceName reports whether a name can be that of a service: a label of DNS.
func IsServiceName(name string) bool {
	if len(name) < 1 || len(name) > 63 || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
}

// shutdownDelays returns hints about services whose tasks stop as soon as they
// leave the catalog, so that requests in flight fail. An explicit delay of 0 is
// fine.
func (g *group) shutdownDelays() {
	named := map[string]bool{}
	anyTask, delayed := false, g.tg.ShutdownDelay != nil
	for s, at := range blocks(g.tg.Services, "service", g.at) {
		switch {
		case s.TaskName != "":
			named[s.TaskName] = true
		case s.Connect != nil && s.Connect.SidecarTask != nil:
			if s.Connect.SidecarTask.ShutdownDelay == nil {
				g.hint(at.Attr("connect").Attr("sidecar_task"), "sidecar has no shutdown_delay",
					fmt.Sprintf("service %q may lose requests when it stops", s.Name), shutdownHint)
			}
		default:
			anyTask = true
		}
	}
	for t, at := range blocks(g.tg.Tasks, "task", g.at) {
		_, own := g.written[at.Attr("shutdown_delay")]
		own = own || t.ShutdownDelay != 0
		delayed = delayed || own
		if !own && (named[t.Name] || len(t.Services) > 0) {
			g.hint(at, "task with a service has no shutdown_delay",
				fmt.Sprintf("%s may lose requests when task %q stops", servicesOf(t, named), t.Name), shutdownHint)
		}
	}
	if anyTask && !delayed {
		g.hint(g.at, "group with a service has no shutdown_delay", fmt.Sprintf("its services may lose requests when group %q stops", g.name), shutdownHint)
	}
}

const shutdownHint = `add shutdown_delay = "5s" or the like`

func servicesOf(t *api.Task, named map[string]bool) string {
	if named[t.Name] && len(t.Services) == 0 {
		return "the group's service"
	}
	return "its service"
}
