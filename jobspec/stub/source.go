package stub

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
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
			k.add(Need{VolumeBlock, source}, k.line(at.Label("volume", name), 0), fmt.Sprintf("volume %s of group %s", name, *g.Name)).optional = false
		}
	}
}

func (k *needs) upstreams(g *api.TaskGroup, at jobspec.Path) {
	for n, s := range g.Services {
		for _, name := range Upstreams(s) {
			if !k.isOwn(name) {
				k.add(Need{ServiceBlock, name}, k.line(at.Index("service", n), 0), fmt.Sprintf("upstream of service %s of group %s", s.Name, *g.Name)).optional = false
			}
		}
	}
}

// Upstreams returns the names of the services that the sidecar or the ingress
// gateway of a service reaches.
func Upstreams(s *api.Service) (names []string) {
	if s.Connect == nil {
		return nil
	}
	if sidecar := s.Connect.SidecarService; sidecar != nil && sidecar.Proxy != nil {
		for _, u := range sidecar.Proxy.Upstreams {
			names = append(names, u.DestinationName)
		}
	}
	if gateway := s.Connect.Gateway; gateway != nil && gateway.Ingress != nil {
		for _, l := range gateway.Ingress.Listeners {
			for _, to := range l.Services {
				if to.Name != "*" {
					names = append(names, to.Name)
				}
			}
		}
	}
	return names
}

// secrets adds the secret blocks of a task, with the keys that it refers to.
func (k *needs) secrets(t *api.Task, at jobspec.Path) {
	var keys map[string]bool
	for i, s := range t.Secrets {
		need := Need{VaultSecret, strings.Trim(s.Path, "/")}
		if s.Provider == "nomad" {
			namespace, _ := s.Config["namespace"].(string)
			need = Need{NomadVariable, VariableLabel(strings.Trim(s.Path, "/"), orNamespace(namespace, k.File.Job))}
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

// orNamespace returns a namespace, or that of the job.
func orNamespace(namespace string, job *api.Job) string {
	if namespace == "" && job.Namespace != nil {
		return *job.Namespace
	}
	return namespace
}
