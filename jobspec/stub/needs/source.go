package needs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

func (k *needs) volumes(g *api.TaskGroup, at jobspec.Path) {
	for _, name := range slices.Sorted(maps.Keys(g.Volumes)) {
		v := g.Volumes[name]
		if v.Type != "host" {
			continue
		}
		sources := []string{v.Source}
		if v.PerAlloc {
			sources = nil
			for n := range min(max(*g.Count, 1), 100) {
				sources = append(sources, fmt.Sprintf("%s[%d]", v.Source, n))
			}
		}
		for _, source := range sources {
			k.add(stub.NeedOf(stub.VolumeBlock, source), k.line(at.Label("volume", name), 0), fmt.Sprintf("volume %s of group %s", name, *g.Name)).optional = false
		}
	}
}

func (k *needs) upstreams(g *api.TaskGroup, at jobspec.Path) {
	for n, s := range g.Services {
		for _, name := range stub.Upstreams(s) {
			if !k.isOwn(name) {
				k.add(stub.NeedOf(stub.ServiceBlock, name), k.line(at.Index("service", n), 0), fmt.Sprintf("upstream of service %s of group %s", s.Name, *g.Name)).optional = false
			}
		}
	}
}

// secrets adds the secret blocks of a task, with the keys that it refers to.
func (k *needs) secrets(t *api.Task, at jobspec.Path) {
	var keys map[string]bool
	for i, s := range t.Secrets {
		need := stub.NeedOf(stub.VaultSecret, strings.Trim(s.Path, "/"))
		if s.Provider == "nomad" {
			namespace, _ := s.Config["namespace"].(string)
			need = stub.NeedOf(stub.NomadVariable, stub.VariableLabel(strings.Trim(s.Path, "/"), orNamespace(namespace, k.File.Job)))
		} else if s.Provider != "vault" {
			continue
		}
		b := k.add(need, k.line(at.Index("secret", i), 0), "secret "+s.Name+" of task "+t.Name)
		b.optional = false
		if keys == nil {
			keys = taskenv.ReferencesIn(t)
		}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			if key, ok := strings.CutPrefix(name, "secret."+s.Name+"."); ok {
				b.has([]string{key}, nil)
			}
		}
	}
}
