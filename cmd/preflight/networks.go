package preflight

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// networks warns about groups that do not get the network they request.
func networks(c *Case, f File) (diagnostics jobspec.Diagnostics) {
	for i, g := range f.Job.TaskGroups {
		if len(g.Networks) == 0 || onlyGateways(g) {
			continue
		}
		if p, ok := networkNotice(g, c.Drivers, jobspec.Root.Index("group", i).Index("network", 0)); ok {
			diagnostics = append(diagnostics, p)
		}
	}
	return diagnostics
}

func networkNotice(g *api.TaskGroup, known map[string]drivers.Driver, at jobspec.Path) (jobspec.Diagnostic, bool) {
	n := g.Networks[0]
	inside, outside := byNetwork(g, known)
	p := jobspec.Diagnostic{Severity: jobspec.Warning, Path: at}
	isHost := n.Mode == "" || n.Mode == "host"
	switch {
	case isHost && (n.DNS == nil || len(inside) > 0):
		return p, false
	case len(inside) == 0:
		p.Summary = "there is no network of the group's own: the tasks use that of this machine"
		p.Detail = "only docker and podman tasks can share one"
		if isHost {
			p.Summary = "dns has no effect: the tasks resolve names as this machine does"
			p.Detail = "only docker and podman tasks can do otherwise"
		}
	case strings.HasPrefix(n.Mode, "cni/"):
		p.Summary = fmt.Sprintf("CNI network %q is a network of the container engine, which only this run has", strings.TrimPrefix(n.Mode, "cni/"))
		p.Detail = "the plugins of its CNI configuration have no effect"
		if len(outside) > 0 {
			p.Detail += "; on the network of this machine: " + strings.Join(outside, ", ")
		}
	case len(outside) > 0:
		p.Summary = fmt.Sprintf("task %q stays on the network of this machine", outside[0])
		if len(outside) > 1 {
			p.Summary = fmt.Sprintf("tasks %s stay on the network of this machine", strings.Join(outside, ", "))
		}
		p.Detail = fmt.Sprintf("the group's own is that of its containers (%s); reach them by NOMAD_ADDR_LABEL", strings.Join(inside, ", "))
	default:
		return p, false
	}
	return p, true
}

// byNetwork splits the tasks of a group into those that can share a network of
// their own, which are of one driver, and the others.
func byNetwork(g *api.TaskGroup, known map[string]drivers.Driver) (inside, outside []string) {
	first := ""
	for _, t := range g.Tasks {
		if d := known[t.Driver]; d != nil && d.Capabilities().MustInitiateNetwork && (first == "" || first == t.Driver) {
			first = t.Driver
			inside = append(inside, t.Name)
		} else {
			outside = append(outside, t.Name)
		}
	}
	return inside, outside
}
