package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Group overrides parts of a group of the job file.
type Group struct {
	Target      string // JOB/GROUP, or GROUP
	Count       *int   // nil: unchanged
	Constraints []Constraint
	Ports       []Port
	Resources   *Resources // of each task; nil: unchanged
	At          jobspec.Range
}

// Constraint replaces those of a group, of its job and of its tasks that have the
// same attribute.
type Constraint struct {
	api.Constraint

	At jobspec.Range
}

// Port overrides a port of a group.
type Port struct {
	Label  string
	Static *int // 0: any free port; nil: unchanged
	To     *int // nil: unchanged
	At     jobspec.Range
}

// Resources override those of a task; nil fields change nothing.
type Resources struct {
	CPU       *int `hcl:"cpu,optional"`
	Cores     *int `hcl:"cores,optional"`
	Memory    *int `hcl:"memory,optional"`
	MemoryMax *int `hcl:"memory_max,optional"`
}

// groups reads the group blocks.
func (p *parser) groups(forms []*groupForm) {
	for _, f := range forms {
		g := Group{Target: f.Target, Count: f.Count, Resources: f.Resources, At: jobspec.RangeOf(f.Block.Header)}
		if g.Count != nil && *g.Count < 0 {
			p.refuse(f.Block.At("count"), "invalid count", fmt.Sprintf("%d is negative", *g.Count), "")
		}
		for _, c := range f.Constraints {
			g.Constraints = append(g.Constraints, Constraint{
				api.Constraint{LTarget: c.Attribute, Operand: c.Operator, RTarget: c.Value}, jobspec.RangeOf(c.Block.Header),
			})
		}
		for _, port := range f.Ports {
			for name, n := range map[string]*int{"static": port.Static, "to": port.To} {
				if n != nil && (*n < 0 && (name != "to" || *n != -1) || *n > 65535) {
					p.refuse(port.Block.At(name), "invalid port", fmt.Sprintf("%d is not between 0 and 65535", *n), "")
				}
			}
			g.Ports = append(g.Ports, Port{port.Label, port.Static, port.To, jobspec.RangeOf(port.Block.Header)})
		}
		p.set.Groups = append(p.set.Groups, g)
	}
}

// apply returns a notice for each change, and an error for each one that cannot be
// made.
func (o Group) apply(job *api.Job, g *api.TaskGroup, at jobspec.Positions, path jobspec.Path) (diagnostics jobspec.Diagnostics) {
	tell := func(severity jobspec.Severity, block jobspec.Range, what string) {
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Severity: severity, Summary: fmt.Sprintf("group %q: %s", deref(g.Name), what), Range: block,
		})
	}
	if o.Count != nil {
		g.Count = new(*o.Count)
		at[path.Attr("count")] = o.At
		tell(jobspec.Notice, o.At, fmt.Sprintf("count = %d by the stubs file", *o.Count))
	}
	for _, c := range o.Constraints {
		found := c.replaceIn(&job.Constraints, at, jobspec.Root)
		found = c.replaceIn(&g.Constraints, at, path) || found
		for n, t := range g.Tasks {
			found = c.replaceIn(&t.Constraints, at, path.Index("task", n)) || found
		}
		if !found {
			at[path.Index("constraint", len(g.Constraints))] = c.At
			g.Constraints = append(g.Constraints, new(c.Constraint))
		}
		tell(jobspec.Notice, c.At, fmt.Sprintf("the constraint on %q is that of the stubs file", c.LTarget))
	}
	for _, p := range o.Ports {
		if !p.apply(g) {
			tell(jobspec.Error, p.At, fmt.Sprintf("there is no port %q", p.Label))
			continue
		}
		tell(jobspec.Notice, p.At, fmt.Sprintf("port %q is that of the stubs file", p.Label))
	}
	if o.Resources != nil {
		for _, t := range g.Tasks {
			o.Resources.apply(t)
		}
		tell(jobspec.Notice, o.At, "resources are those of the stubs file")
	}
	return diagnostics
}

// replaceIn replaces the constraints with the same attribute. It reports whether
// there are any.
func (c Constraint) replaceIn(list *[]*api.Constraint, at jobspec.Positions, path jobspec.Path) (found bool) {
	*list = slices.Clone(*list)
	for i, other := range *list {
		if other.LTarget == c.LTarget {
			(*list)[i], found = new(c.Constraint), true
			move(at, path.Index("constraint", i), c.At)
		}
	}
	return found
}

// apply reports whether the group has the port.
func (p Port) apply(g *api.TaskGroup) bool {
	for _, n := range g.Networks {
		named := func(o api.Port) bool { return o.Label == p.Label }
		port := api.Port{}
		if i := slices.IndexFunc(n.ReservedPorts, named); i >= 0 {
			port = n.ReservedPorts[i]
		} else if i := slices.IndexFunc(n.DynamicPorts, named); i >= 0 {
			port = n.DynamicPorts[i]
		} else {
			continue
		}
		if p.To != nil {
			port.To = *p.To
		}
		if p.Static != nil {
			port.Value = *p.Static
		}
		n.ReservedPorts = slices.DeleteFunc(slices.Clone(n.ReservedPorts), named)
		n.DynamicPorts = slices.DeleteFunc(slices.Clone(n.DynamicPorts), named)
		if port.Value == 0 {
			n.DynamicPorts = append(n.DynamicPorts, port)
		} else {
			n.ReservedPorts = append(n.ReservedPorts, port)
		}
		return true
	}
	return false
}

func (r *Resources) apply(t *api.Task) {
	if t.Resources == nil {
		t.Resources = &api.Resources{}
	}
	for to, from := range map[**int]*int{
		&t.Resources.CPU: r.CPU, &t.Resources.Cores: r.Cores, &t.Resources.MemoryMB: r.Memory, &t.Resources.MemoryMaxMB: r.MemoryMax,
	} {
		if from != nil {
			*to = new(*from)
		}
	}
}

// IsFor reports whether the block names a job: JOB/GROUP.
func (o Group) IsFor(job string) bool { return strings.HasPrefix(o.Target, job+"/") }
