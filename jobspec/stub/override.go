package stub

import (
	"maps"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Override changes the tasks of a job according to the task blocks, and returns
// the indexes of the blocks that matched. Later diagnostics of a replaced
// config refer to the block that replaced it.
func (s *Set) Override(job *api.Job, at jobspec.Positions) (used map[int]bool) {
	used = map[int]bool{}
	for i, g := range job.TaskGroups {
		for k, t := range g.Tasks {
			path := strings.Join([]string{text(job.ID, job.Name), text(g.Name), t.Name}, "/")
			for n, o := range s.Tasks {
				if o.isFor(path) {
					used[n] = true
					o.apply(t, at, jobspec.Root.Index("group", i).Index("task", k))
				}
			}
		}
	}
	return used
}

func text(candidates ...*string) string {
	for _, c := range candidates {
		if c != nil {
			return *c
		}
	}
	return ""
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
		config := path.Attr("config")
		for p := range at {
			if strings.HasPrefix(string(p), string(config)) {
				delete(at, p)
			}
		}
		at[config] = o.At
	}
	if len(o.Env) > 0 {
		env := maps.Clone(t.Env)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, o.Env)
		t.Env = env
	}
}
