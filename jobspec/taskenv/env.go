package taskenv

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Env is a snapshot of a task's environment. It does not change and may be
// used from several goroutines at once.
type Env struct {
	vars       map[string]string
	clientVars map[string]string // with directories as on the host
	node       *Node
	secrets    map[string]string
	warnings   []Warning

	taskDir, sharedDir string // on the host
}

// List returns the variables as sorted "NAME=value", for a process.
func (e *Env) List() []string {
	list := make([]string, 0, len(e.vars))
	for name, value := range e.vars {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// Map returns a copy of the variables.
func (e *Env) Map() map[string]string { return maps.Clone(e.vars) }

// All returns the variables together with what ${node.*}, ${attr.*} and
// ${meta.*} refer to: what the template function env sees. It measures every
// attribute of the node.
func (e *Env) All() map[string]string {
	all := maps.Clone(e.vars)
	maps.Copy(all, e.node.values())
	return all
}

// Lookup returns the value of ${name}.
func (e *Env) Lookup(name string) (string, bool) { return e.lookup(e.vars, name) }

// LookupOpen is Lookup without secrets.
func (e *Env) LookupOpen(name string) (string, bool) {
	if value, ok := e.vars[name]; ok {
		return value, true
	}
	return e.node.value(name)
}

func (e *Env) lookup(vars map[string]string, name string) (string, bool) {
	if value, ok := vars[name]; ok {
		return value, true
	}
	if value, ok := e.node.value(name); ok {
		return value, true
	}
	value, ok := e.secrets[name]
	return value, ok
}

// Replace replaces the references ${name} in s that are known: variables,
// values of the node, secrets. Others stay as they are, there is no escape,
// and what was put in is not replaced again.
func (e *Env) Replace(s string) string { return replace(s, e.Lookup) }

// ReplaceAll replaces in each of list, which is not changed.
func (e *Env) ReplaceAll(list []string) []string {
	if list == nil {
		return nil
	}
	replaced := make([]string, len(list))
	for i, s := range list {
		replaced[i] = e.Replace(s)
	}
	return replaced
}

// ReplaceMap replaces in the keys and values of m, which is not changed. Of
// keys that become one the later in byte order wins.
func (e *Env) ReplaceMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	replaced := make(map[string]string, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		replaced[e.Replace(key)] = e.Replace(m[key])
	}
	return replaced
}

// Warnings returns the warnings about references in the env and meta blocks.
func (e *Env) Warnings() []Warning { return slices.Clone(e.warnings) }

// ClientPath replaces the references in the path of a template or artifact,
// directories being those of the host, and makes it absolute. Relative paths
// start in the task's directory; with joinEscape, so do absolute ones that
// lie outside of it and of the shared directory of the allocation. It reports
// whether the result is outside of both. Links are not followed.
func (e *Env) ClientPath(p string, joinEscape bool) (abs string, escapes bool) {
	p = replace(p, func(name string) (string, bool) { return e.lookup(e.clientVars, name) })
	if !filepath.IsAbs(p) || joinEscape && e.outside(p) {
		p = filepath.Join(e.taskDir, p)
	}
	p = filepath.Clean(p)
	return p, e.outside(p)
}

func (e *Env) outside(p string) bool {
	p = filepath.Clean(p)
	for _, dir := range []string{e.taskDir, e.sharedDir} {
		if p == dir || strings.HasPrefix(p, dir+string(filepath.Separator)) {
			return false
		}
	}
	return true
}
