package stub

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Secret is a secret in Vault.
type Secret struct {
	Path string // of the stub
	Data map[string]any
	KV2  bool // KV engine version 2: the data is below "data"
}

// Secret returns the secret at a path in Vault. Like Vault's own clients, it
// finds "kv/data/web" for "kv/web" if only that exists.
func (s *Set) Secret(path string) (Secret, bool) {
	if data, ok := s.secrets[path]; ok {
		return Secret{path, data, isKV2(path)}, true
	}
	steps := strings.Split(path, "/")
	for i := 1; i < len(steps); i++ {
		full := strings.Join(slices.Insert(slices.Clone(steps), i, "data"), "/")
		if data, ok := s.secrets[full]; ok {
			return Secret{full, data, true}, true
		}
	}
	return Secret{}, false
}

// isKV2 reports whether a path belongs to a KV engine version 2: a step after
// the first one is "data", and another step follows.
func isKV2(path string) bool {
	steps := strings.Split(path, "/")
	i := slices.Index(steps, "data")
	return 0 < i && i < len(steps)-1
}

// labelKV2 returns the label of a secret of a KV engine version 2: the path as
// Vault's own clients complete it. A path of a single step has none.
func labelKV2(path string) string {
	if mount, rest, ok := strings.Cut(path, "/"); ok && !isKV2(path) {
		return mount + "/data/" + rest
	}
	return path
}

// SecretNames returns the sorted list of a path in Vault: names, and folders
// with a slash. Vault lists a KV engine version 2 below "metadata", which its
// clients let users omit.
func (s *Set) SecretNames(path string) []string {
	names := map[string]bool{}
	for full := range s.secrets {
		folder := strings.Trim(path, "/") + "/"
		if isKV2(full) {
			full = strings.Replace(full, "/data/", "/", 1)
			folder = strings.Replace(folder, "/metadata/", "/", 1)
		}
		if rest, below := strings.CutPrefix(full, folder); below {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
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
		for _, text := range a.secrets() {
			add(text)
		}
	}
	for _, items := range s.variables {
		for _, text := range items {
			add(text)
		}
	}
	return slices.Sorted(maps.Keys(values))
}
