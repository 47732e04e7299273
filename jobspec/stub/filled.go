package stub

import (
	"maps"
	"slices"
	"strings"
)

// Filled returns the set of a run that starts tasks: without what has
// placeholders. Only values of variables and changes to jobs keep theirs. A run
// must reject those that it needs, see Todos.
func (s *Set) Filled() *Set {
	f := *s
	f.filled = true
	if len(s.Todos) == 0 {
		return &f
	}
	f.variables, f.keys, f.secrets = maps.Clone(s.variables), maps.Clone(s.keys), maps.Clone(s.secrets)
	f.HostVolumes = maps.Clone(s.HostVolumes)
	f.Node.Meta, f.Node.Attributes = maps.Clone(s.Node.Meta), maps.Clone(s.Node.Attributes)
	fields := map[string]*string{
		"node.unique.name": &f.Node.Name, "node.class": &f.Node.Class, "node.pool": &f.Node.Pool, "node.datacenter": &f.Node.Datacenter,
	}
	for _, t := range s.Todos {
		switch t.Kind {
		case NomadVariable:
			delete(f.variables, keyOf(t.Label))
		case ConsulKey:
			delete(f.keys, t.Label)
		case VaultSecret:
			delete(f.secrets, t.Label)
		case ServiceBlock:
			f.Services = slices.DeleteFunc(slices.Clone(f.Services), func(s Service) bool { return s.Placeholder && s.Name == t.Label })
		case VolumeBlock:
			delete(f.HostVolumes, t.Label)
		case ArtifactBlock:
			f.Artifacts = slices.DeleteFunc(slices.Clone(f.Artifacts), func(a Artifact) bool { return a.Label == t.Label })
		case NodeBlock:
			delete(f.Node.Meta, strings.TrimPrefix(t.Label, "meta."))
			delete(f.Node.Attributes, strings.TrimPrefix(t.Label, "attr."))
			if field := fields[t.Label]; field != nil {
				*field = ""
			}
		case "vault":
			f.VaultToken = localToken
		case "consul":
			f.ConsulToken = localToken
		}
	}
	return &f
}

// IsFilled reports whether the set is a result of Filled.
func (s *Set) IsFilled() bool { return s.filled }

// Unfilled returns the placeholders in the blocks for a need. A list needs all
// blocks whose labels start with that of the need.
func (s *Set) Unfilled(n Need, list bool) (found []Todo) {
	for _, t := range s.Todos {
		if t.Kind == n.Kind && t.Fits(n.Label, list) {
			found = append(found, t)
		}
	}
	return found
}
