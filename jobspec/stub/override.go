package stub

import (
	"cmp"
	"maps"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Changes is what Apply has done with a job.
type Changes struct {
	Groups, Tasks map[int]bool // indexes of the blocks that matched
	// Diagnostics has a notice for each change to a group, and an error for each
	// one that cannot be made.
	Diagnostics jobspec.Diagnostics
}

// Apply changes a job according to the blocks for its artifacts, groups and
// tasks. What a block for a task changes wins over the block for its group.
// Later diagnostics of a changed part refer to the block that changed it.
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
