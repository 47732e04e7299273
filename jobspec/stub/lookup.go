package stub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
)

// Rehearsal returns how a task behaves in a rehearsal, or nil if no stub
// defines it.
func (s *Set) Rehearsal(job, group, task string) (found *Rehearsal) {
	for _, t := range s.Tasks {
		if t.Rehearsal != nil && t.isFor(job+"/"+group+"/"+task) {
			found = t.Rehearsal
		}
	}
	return found
}

// HostVolume returns the directory for a host volume. A placeholder names none.
func (s *Set) HostVolume(source string) (path string, readOnly, ok bool) {
	v, ok := s.HostVolumes[source]
	return v.Path, v.ReadOnly, ok && !v.Placeholder
}

// Variable returns the items of a Nomad variable.
func (s *Set) Variable(namespace, path string) (map[string]string, bool) {
	items, ok := s.variables[variableKey{namespace, path}]
	return items, ok
}

// Variables returns the Nomad variables, sorted by namespace and path.
func (s *Set) Variables() (found []*api.Variable) {
	for key, items := range s.variables {
		found = append(found, &api.Variable{Namespace: key.namespace, Path: key.path, Items: items})
	}
	slices.SortFunc(found, func(a, b *api.Variable) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Path, b.Path))
	})
	return found
}

// WithVariables returns a copy of s with the given Nomad variables instead of
// its own.
func (s *Set) WithVariables(variables []*api.Variable) *Set {
	with := *s
	with.variables = make(map[variableKey]map[string]string, len(variables))
	for _, v := range variables {
		with.variables[variableKey{v.Namespace, v.Path}] = v.Items
	}
	return &with
}

// VariablePaths returns the sorted paths of the Nomad variables in a namespace
// that start with prefix. The namespace "*" means all.
func (s *Set) VariablePaths(namespace, prefix string) (found []*api.VariableMetadata) {
	for key := range s.variables {
		if (namespace == "*" || key.namespace == namespace) && strings.HasPrefix(key.path, prefix) {
			found = append(found, &api.VariableMetadata{Namespace: key.namespace, Path: key.path})
		}
	}
	slices.SortFunc(found, func(a, b *api.VariableMetadata) int {
		return strings.Compare(a.Path+"\x00"+a.Namespace, b.Path+"\x00"+b.Namespace)
	})
	return found
}

// Key returns the value of a Consul key.
func (s *Set) Key(key string) (string, bool) {
	value, ok := s.keys[key]
	return value, ok
}

// Keys returns the sorted Consul keys that start with prefix.
func (s *Set) Keys(prefix string) (found []string) {
	for key := range s.keys {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// Secret returns the secret at a path in Vault.
func (s *Set) Secret(path string) (Secret, bool) {
	full, ok := secretPath(path, func(path string) bool { return s.secrets[path] != nil })
	return Secret{s.secrets[full], full != path || IsKV2(full)}, ok
}

// SecretNames returns the sorted list of a path in Vault: names, and folders
// with a slash.
func (s *Set) SecretNames(path string) []string {
	names := map[string]bool{}
	for full := range s.secrets {
		if name, below := secretIn(full, path); below {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// SecretPaths returns the sorted paths of Vault's secrets.
func (s *Set) SecretPaths() []string { return slices.Sorted(maps.Keys(s.secrets)) }

// SecretValues returns all values that no message may show, sorted: the texts in
// Vault's secrets, those of Nomad variables, whatever they hold, credentials of
// artifacts, and tokens.
func (s *Set) SecretValues() []string {
	values := map[string]bool{s.VaultToken: true, s.ConsulToken: true}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			values[v] = true
		case json.Number:
			values[v.String()] = true
		case []any:
			for _, each := range v {
				add(each)
			}
		case map[string]any:
			for _, each := range v {
				add(each)
			}
		}
	}
	for _, data := range s.secrets {
		add(data)
	}
	for _, a := range s.Artifacts {
		for name, value := range a.Options {
			if artifact.IsSecret(name) {
				add(value)
			}
		}
		for _, value := range a.Headers {
			add(value)
		}
	}
	for _, items := range s.variables {
		for _, text := range items {
			add(text)
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// TaskWatch is a watch block with the tasks that it is for.
type TaskWatch struct {
	Watch
	Target string // of the task block: JOB/GROUP/TASK, or a suffix of it
}

// Watches returns all watch blocks.
func (s *Set) Watches() (list []TaskWatch) {
	for _, t := range s.Tasks {
		for _, w := range t.Watches {
			list = append(list, TaskWatch{w, t.Target})
		}
	}
	return list
}

// IsFor reports whether the block is for a task, JOB/GROUP/TASK.
func (w *TaskWatch) IsFor(path string) bool { return Task{Target: w.Target}.isFor(path) }

// Exposed returns a notice if the file contains secrets that other users may
// read: Vault secrets and Nomad variables, regardless of their content. It is
// never more than that, because git checks files out with mode 0644.
func (s *Set) Exposed() (jobspec.Diagnostic, bool) {
	if !s.secretive {
		return jobspec.Diagnostic{}, false
	}
	info, err := os.Stat(s.File)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		return jobspec.Diagnostic{}, false
	}
	return jobspec.Diagnostic{
		Severity: jobspec.Notice,
		Summary:  fmt.Sprintf("the secrets in %q can be read by other users (mode %04o)", s.File, info.Mode().Perm()),
		Remedy:   "file(…) and env(\"NAME\") keep secrets out of the file; or chmod 600 " + s.File,
	}, true
}
