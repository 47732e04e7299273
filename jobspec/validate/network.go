package validate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// networks checks the networks of the group and of its tasks, which share the
// ports of one machine.
func (g *group) networks() {
	claims := &portClaims{labels: map[string]bool{}, static: map[hostPort]string{}}
	args := map[string]bool{}
	for i, n := range g.tg.Networks {
		n, at := orEmpty(n), g.at.Index("network", i)
		if i > 0 {
			g.warn(at, "network has no effect", "Nomad uses the first network of a group", "move its content there")
		}
		for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
			g.port(p, n.Mode, at, claims)
		}
		g.networkMode(n.Mode, at)
		g.hostname(n.Hostname, at)
		g.cniArgs(n.CNI, args, at)
		g.ignoredNetwork(n, at)
	}
	for i, t := range g.tg.Tasks {
		if t == nil || t.Resources == nil {
			continue
		}
		for j, n := range t.Resources.Networks {
			at := g.at.Index("task", i).Attr("resources").Index("network", j)
			g.hint(at, "a network in a task is deprecated", "", "move it to the group")
			g.taskNetwork(orEmpty(n), t.Name, at, claims)
		}
	}
}

func (g *group) networkMode(mode string, at jobspec.Path) {
	known := []string{"host", "none", "bridge"}
	if mode == "" || slices.Contains(known, mode) || strings.HasPrefix(mode, "cni/") {
		return
	}
	g.warn(at.Attr("mode"), "unknown network mode", fmt.Sprintf("%q", mode),
		cmp.Or(diagnostic.DidYouMean(mode, known), "write one of host, none, bridge, cni/NAME"))
}

// hostname refuses a name that exceeds the lengths of a DNS name, as Nomad
// does, and warns about characters that no resolver accepts.
func (g *group) hostname(name string, at jobspec.Path) {
	if name == "" || strings.Contains(name, "${") {
		return
	}
	at = at.Attr("hostname")
	long := len(name) > 253
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		long = long || label == "" || len(label) > 63
	}
	if long {
		g.wrong(at, "hostname is not a DNS name", fmt.Sprintf("%q", name), "write labels of 1 to 63 characters with dots between, 253 in all")
		return
	}
	odd := func(r rune) bool {
		return r != '.' && r != '_' && !isAlphanumeric(r) && r != '-'
	}
	if strings.ContainsFunc(name, odd) {
		g.warn(at, "hostname is not a DNS name", fmt.Sprintf("%q", name), "write letters, digits, dashes and dots")
	}
}

// cniArgs checks the plugins' CNI_ARGS, a list of key=value separated by
// semicolons.
func (g *group) cniArgs(cni *api.CNIConfig, seen map[string]bool, at jobspec.Path) {
	if cni == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(cni.Args)) {
		at := at.Attr("cni").Attr("args").Attr(key)
		if seen[key] {
			g.refuse(at, fmt.Sprintf("CNI argument %q is set twice", key), "", "remove one of them")
		}
		seen[key] = true
		if strings.Contains(key, ";") || strings.Contains(cni.Args[key], ";") {
			g.refuse(at, "CNI argument contains a semicolon", fmt.Sprintf("%q = %q", key, cni.Args[key]), "semicolons separate the arguments: set each by its own key")
		}
	}
}

func (c *checker) ignoredNetwork(n *api.NetworkResource, at jobspec.Path) {
	c.noEffect(at.Attr("device"), n.Device != "", "remove it; host_network of a port chooses the interface")
	c.noEffect(at.Attr("mbits"), n.MBits != nil, "remove it")
}

// portClaims are the labels and static ports in use.
type portClaims struct {
	labels map[string]bool
	static map[hostPort]string // label of the first port with it
}

type hostPort struct {
	network string
	number  int
}

func (g *group) port(p api.Port, mode string, network jobspec.Path, claims *portClaims) {
	at := network.Label("port", p.Label)
	if claims.labels[p.Label] {
		g.refuse(at, fmt.Sprintf("port %q is defined twice", p.Label), fmt.Sprintf("in group %q", g.name), "rename one of them")
	}
	claims.labels[p.Label] = true
	g.staticPort(p, at, claims)
	inHost := mode == "" || mode == "host"
	switch {
	case p.To < -1 || p.To > math.MaxUint16:
		g.wrong(at.Attr("to"), "port is out of range", fmt.Sprintf("to is %d", p.To), "write 1 to 65535, or -1 for the number it has on the host")
	case inHost && p.To > 0 && p.To != p.Value && !g.mayMapPorts():
		g.warn(at.Attr("to"), "nothing forwards this port",
			fmt.Sprintf("tasks in the host network get port %d, but services are registered with another one", p.To), "remove to")
	}
	if p.IgnoreCollision && !inHost {
		g.refuse(at.Attr("ignore_collision"), "ignore_collision is for the host network", fmt.Sprintf("the network's mode is %q", mode), "remove it")
	}
}

// mayMapPorts reports whether a task's driver may map the ports of a host network,
// as that of containers does.
func (g *group) mayMapPorts() bool {
	return len(g.tg.Tasks) == 0 || slices.ContainsFunc(g.tg.Tasks, func(t *api.Task) bool {
		return t == nil || !slices.Contains([]string{"raw_exec", "exec", "exec2", "java", "mock_driver"}, t.Driver)
	})
}

// taskNetwork checks the deprecated network of a task. Labels of different tasks
// do not collide.
func (g *group) taskNetwork(n *api.NetworkResource, task string, at jobspec.Path, claims *portClaims) {
	for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
		at := at.Label("port", p.Label)
		if claims.labels[p.Label] {
			g.refuse(at, fmt.Sprintf("port %q is defined twice", p.Label), fmt.Sprintf("in group %q and its task %q", g.name, task), "rename one of them")
		}
		p.IgnoreCollision = false
		g.staticPort(p, at, claims)
	}
	g.ignoredNetwork(n, at)
}

func (g *group) staticPort(p api.Port, at jobspec.Path, claims *portClaims) {
	if p.Value == 0 {
		return
	}
	if p.Value < 0 || p.Value > math.MaxUint16 {
		g.wrong(at.Attr("static"), "port is out of range", fmt.Sprintf("static is %d", p.Value), "write 1 to 65535, or remove static for a port that is free")
		return
	}
	key := hostPort{cmp.Or(p.HostNetwork, "default"), p.Value}
	other, taken := claims.static[key]
	if !taken {
		claims.static[key] = p.Label
	} else if !p.IgnoreCollision {
		g.refuse(at.Attr("static"), fmt.Sprintf("static port %d is taken", p.Value),
			fmt.Sprintf("port %q of group %q has it already", other, g.name), "write another number")
	}
}
