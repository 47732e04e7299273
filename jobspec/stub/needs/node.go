package needs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/placement"
	"taskrun/jobspec/taskenv"
)

// environmentOf matches requests of templates for values of the node.
var environmentOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`env\s+"((?:attr|meta|node)\.[^"]+)"`)
})

// nodeValues adds the values of the node that the job uses and this machine does
// not have, and those that fail a constraint.
func (k *needs) nodeValues() {
	if k.Node == nil {
		return
	}
	added := map[string]bool{}
	for _, g := range placement.Gaps(k.File.Job, k.Node) {
		v := nodeValue{name: g.Name, value: fmt.Sprintf("TODO(%q)", g.Name), has: g.Has, measured: g.Measured}
		if g.Satisfied {
			v.value = quote(g.Value)
		}
		v.place = k.place(k.line(g.At, 0), "constraint")
		added[g.Name] = true
		if g.Satisfied || !g.Measured {
			k.node = append(k.node, v)
		}
	}
	names := taskenv.ReferencesIn(withoutPlacement(k.File.Job))
	for _, g := range k.File.Job.TaskGroups {
		for _, t := range g.Tasks {
			for _, tmpl := range t.Templates {
				for _, m := range environmentOf().FindAllStringSubmatch(deref(tmpl.EmbeddedTmpl), -1) {
					names[m[1]] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		kind, _, _ := strings.Cut(name, ".")
		_, has := k.Node.Lookup("${" + name + "}")
		if (kind == "attr" || kind == "meta" || kind == "node") && !added[name] && (!has || name == "node.class" && k.Node.Class == "") && !taskenv.NoNodeHas(name) {
			k.node = append(k.node, nodeValue{name: name, value: fmt.Sprintf("TODO(%q)", name), place: k.place(k.lineOf("${"+name), "reference")})
		}
	}
}

// withoutPlacement returns a copy of a job without what only placement reads.
func withoutPlacement(j *api.Job) *api.Job {
	job := *j
	job.Constraints, job.Affinities, job.Spreads = nil, nil, nil
	job.TaskGroups = slices.Clone(j.TaskGroups)
	for i, g := range job.TaskGroups {
		group := *g
		group.Constraints, group.Affinities, group.Spreads = nil, nil, nil
		group.Tasks = slices.Clone(g.Tasks)
		for n, t := range group.Tasks {
			task := *t
			task.Constraints, task.Affinities = nil, nil
			group.Tasks[n] = &task
		}
		job.TaskGroups[i] = &group
	}
	return &job
}
