package runner

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec/taskenv"
)

// portsOf are ports in the words of drivers.
func portsOf(ports []taskenv.Port) []drivers.Port {
	list := make([]drivers.Port, len(ports))
	for i, p := range ports {
		list[i] = drivers.Port(p)
	}
	return list
}

// dnsOf is how the tasks of a group resolve names, nil if as the machine does.
func dnsOf(g *api.TaskGroup) *drivers.DNS {
	if len(g.Networks) == 0 || g.Networks[0].DNS == nil {
		return nil
	}
	dns := g.Networks[0].DNS
	return &drivers.DNS{Servers: dns.Servers, Searches: dns.Searches, Options: dns.Options}
}
