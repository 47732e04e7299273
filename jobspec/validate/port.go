package validate

import (
	"fmt"
	"math"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// portClaims remembers who has which label and which static port.
type portClaims struct {
	labels map[string]bool
	static map[hostPort]string // label of the first port with it
}

type hostPort struct {
	network string
	number  int
}

// port checks one port of the group's networks.
func (g *group) port(p *api.Port, mode string, network jobspec.Path, claims *portClaims) {
	at := network.Label("port", p.Label)
	if claims.labels[p.Label] {
		g.refuse(at, fmt.Sprintf("port %q is defined twice", p.Label), fmt.Sprintf("in group %q", g.name), "rename one of them")
	}
	claims.labels[p.Label] = true
	g.staticPort(p, at, claims)
	if p.To < -1 || p.To > math.MaxUint16 {
		g.refuse(at.Attr("to"), "port is out of range", fmt.Sprintf("to is %d", p.To), "write 1 to 65535, or -1 for the number it has on the host")
	}
	if p.IgnoreCollision && mode != "" && mode != "host" {
		g.refuse(at.Attr("ignore_collision"), "ignore_collision is for the host network", fmt.Sprintf("the network's mode is %q", mode), "remove it")
	}
}

// taskNetwork checks the deprecated network of a task. Labels of different tasks
// do not collide.
func (g *group) taskNetwork(n *api.NetworkResource, task string, at jobspec.Path, claims *portClaims) {
	check := func(p *api.Port) {
		at := at.Label("port", p.Label)
		if claims.labels[p.Label] {
			g.refuse(at, fmt.Sprintf("port %q is defined twice", p.Label), fmt.Sprintf("in group %q and its task %q", g.name, task), "rename one of them")
		}
		own := *p
		own.IgnoreCollision = false
		g.staticPort(&own, at, claims)
	}
	for _, p := range n.ReservedPorts {
		check(&p)
	}
	for _, p := range n.DynamicPorts {
		check(&p)
	}
	g.ignoredNetwork(n, at)
}

func (g *group) staticPort(p *api.Port, at jobspec.Path, claims *portClaims) {
	if p.Value == 0 {
		return
	}
	if p.Value < 0 || p.Value > math.MaxUint16 {
		g.refuse(at.Attr("static"), "port is out of range", fmt.Sprintf("static is %d", p.Value), "write 1 to 65535, or remove static for a port that is free")
		return
	}
	key := hostPort{p.HostNetwork, p.Value}
	if key.network == "" {
		key.network = "default"
	}
	other, taken := claims.static[key]
	if !taken {
		claims.static[key] = p.Label
	} else if !p.IgnoreCollision {
		g.refuse(at.Attr("static"), fmt.Sprintf("static port %d is taken", p.Value),
			fmt.Sprintf("port %q of group %q has it already", other, g.name), "write another number")
	}
}

// portNames are the labels that can be referred to inside a group.
type portNames struct {
	group  []string // of the group's networks
	legacy []string // of the networks of its tasks
}

func newPortNames(tg *api.TaskGroup) portNames {
	var names portNames
	for _, n := range tg.Networks {
		names.group = appendLabels(names.group, n)
	}
	for _, s := range tg.Services {
		// Nomad adds the port of a sidecar to the network when it is not there.
		if s != nil && s.Connect != nil && s.Connect.SidecarService != nil && s.Connect.SidecarService.Port != "" {
			names.group = append(names.group, s.Connect.SidecarService.Port)
		}
	}
	for _, t := range tg.Tasks {
		if t == nil || t.Resources == nil {
			continue
		}
		for _, n := range t.Resources.Networks {
			names.legacy = appendLabels(names.legacy, n)
		}
	}
	return names
}

func appendLabels(labels []string, n *api.NetworkResource) []string {
	n = orEmpty(n)
	for _, p := range n.ReservedPorts {
		labels = append(labels, p.Label)
	}
	for _, p := range n.DynamicPorts {
		labels = append(labels, p.Label)
	}
	return labels
}
