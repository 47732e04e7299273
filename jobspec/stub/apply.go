package stub

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
)

// Changes are the changes that Apply has made to a job.
type Changes struct {
	Groups, Tasks map[int]bool // indexes of the blocks that matched
	// Diagnostics has a notice for each change to a group, and an error for each
	// one that cannot be made.
	Diagnostics jobspec.Diagnostics
}

// Apply changes a job according to the blocks for its artifacts, groups and tasks.
// A block for a task takes precedence over the block for its group. Later
// diagnostics of a changed part refer to the block that changed it.
func (s *Set) Apply(job *api.Job, at jobspec.Positions) Changes {
	c := Changes{Groups: map[int]bool{}, Tasks: map[int]bool{}}
	for i, g := range job.TaskGroups {
		path, of := deref(cmp.Or(job.ID, job.Name))+"/"+deref(g.Name), jobspec.Root.Index("group", i)
		for n, o := range s.Groups {
			if o.Target == path || o.Target == deref(g.Name) {
				c.Groups[n] = true
				c.Diagnostics = append(c.Diagnostics, o.apply(job, g, at, of)...)
			}
		}
		for k, t := range g.Tasks {
			in := of.Index("task", k)
			for n, o := range s.Tasks {
				if o.isFor(path + "/" + t.Name) {
					c.Tasks[n] = true
					o.apply(t, at, in)
				}
			}
			for n, a := range t.Artifacts {
				s.applyTo(a, at, in.Index("artifact", n))
			}
		}
	}
	return c
}

// move gives a path, and all below it, a new place.
func move(at jobspec.Positions, path jobspec.Path, to jobspec.Range) {
	for p := range at {
		if strings.HasPrefix(string(p), string(path)) {
			delete(at, p)
		}
	}
	at[path] = to
}

func (o Task) apply(t *api.Task, at jobspec.Positions, path jobspec.Path) {
	if o.Driver != "" {
		t.Driver = o.Driver
		at[path.Attr("driver")] = o.At
	}
	if o.Resources != nil {
		o.Resources.apply(t)
	}
	if o.User != nil {
		t.User = *o.User
	}
	if o.Config != nil {
		t.Config = maps.Clone(o.Config)
		move(at, path.Attr("config"), o.At)
	}
	t.Env = with(t.Env, o.Env)
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
		ports := slices.Concat(n.ReservedPorts, n.DynamicPorts)
		i := slices.IndexFunc(ports, named)
		if i < 0 {
			continue
		}
		port := ports[i]
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

// applyTo changes an artifact of a job according to the block with its source.
func (s *Set) applyTo(a *api.TaskArtifact, at jobspec.Positions, path jobspec.Path) {
	i := slices.IndexFunc(s.Artifacts, func(o Artifact) bool { return o.Label == deref(a.GetterSource) })
	if i < 0 {
		return
	}
	o := s.Artifacts[i]
	if o.Source != "" {
		a.GetterSource = new(o.Source)
		a.GetterOptions = maps.Clone(a.GetterOptions)
		maps.DeleteFunc(a.GetterOptions, func(name, _ string) bool { return artifact.IsSecret(name) })
		at[path.Attr("source")] = o.At
	}
	a.GetterOptions = with(a.GetterOptions, o.Options)
	a.GetterHeaders = with(a.GetterHeaders, o.Headers)
	for part, values := range map[string]map[string]string{"options": o.Options, "headers": o.Headers} {
		for name := range values {
			at[path.Attr(part).Attr(name)] = o.At
		}
	}
}

// with returns a map with additions. It changes neither.
func with(values, added map[string]string) map[string]string {
	if len(added) == 0 {
		return values
	}
	all := maps.Clone(values)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, added)
	return all
}

func deref(s *string) string { return *cmp.Or(s, new(string)) }
