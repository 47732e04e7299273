// Package needs lists what a job needs from a cluster, and adds it to the text of a
// stubs file, to be filled in.
package needs

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

func needsOf(o *Job) *needs {
	k := &needs{Job: o, blocks: map[stub.Need]*block{}}
	j := o.File.Job
	for _, g := range j.TaskGroups {
		k.own = append(k.own, serviceNames(g.Services)...)
		for _, t := range g.Tasks {
			k.own = append(k.own, serviceNames(t.Services)...)
		}
	}
	for i, g := range j.TaskGroups {
		at := jobspec.Root.Index("group", i)
		k.volumes(g, at)
		k.upstreams(g, at)
		for n, t := range g.Tasks {
			in := at.Index("task", n)
			k.secrets(t, in)
			k.artifacts(t, in)
			var requests []stub.Request
			if o.Requests != nil {
				requests = o.Requests(i, n)
			}
			for n := range t.Templates {
				k.template(t, n, in, slices.DeleteFunc(slices.Clone(requests), func(r stub.Request) bool { return r.Template != n }))
			}
		}
	}
	k.nodeValues()
	return k
}

func serviceNames(list []*api.Service) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}
