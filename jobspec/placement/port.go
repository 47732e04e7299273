package placement

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// StaticPorts finds static ports that several allocations of jobs request: a
// cluster would place them on different nodes.
type StaticPorts struct {
	taken map[int]string // allocation that uses the port
}

// Check returns the errors of a canonicalized job, given those checked before.
// Ports with ignore_collision may collide.
func (s *StaticPorts) Check(job *api.Job) (diagnostics jobspec.Diagnostics) {
	for i, g := range job.TaskGroups {
		at := jobspec.Root.Index("group", i)
		if len(g.Networks) > 0 {
			diagnostics = append(diagnostics, s.network(job, g, g.Networks[0], at.Index("network", 0))...)
		}
		for k, t := range g.Tasks {
			if t.Resources != nil && len(t.Resources.Networks) > 0 {
				in := at.Index("task", k).Attr("resources").Index("network", 0)
				diagnostics = append(diagnostics, s.network(job, g, t.Resources.Networks[0], in)...)
			}
		}
	}
	return diagnostics
}

func (s *StaticPorts) network(job *api.Job, g *api.TaskGroup, n *api.NetworkResource, at jobspec.Path) (diagnostics jobspec.Diagnostics) {
	refuse := func(p api.Port, summary, detail, remedy string) {
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Summary: summary, Detail: detail, Remedy: remedy, Path: at.Label("port", p.Label).Attr("static"),
		})
	}
	for _, p := range n.ReservedPorts {
		if p.IgnoreCollision {
			continue
		}
		if other, ok := s.taken[p.Value]; ok {
			refuse(p, fmt.Sprintf("static port %d is asked for twice", p.Value), other+" has it", "write another number, or remove static for a port that is free")
			continue
		}
		if s.taken == nil {
			s.taken = map[int]string{}
		}
		s.taken[p.Value] = fmt.Sprintf("port %q of group %q of job %q", p.Label, *g.Name, *job.ID)
		if count := *g.Count; count > 1 && *job.Type != api.JobTypeSystem && *job.Type != api.JobTypeSysbatch {
			refuse(p, fmt.Sprintf("%d allocations cannot all have static port %d", count, p.Value),
				"on a cluster each would need a node of its own",
				fmt.Sprintf("write count = 1, or remove static for ports that are free; or add to taskrun.hcl: group %q { count = 1 }", *job.ID+"/"+*g.Name))
		}
	}
	return diagnostics
}
