package taskenv

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Env is an immutable snapshot of a task's environment. It is safe for
// concurrent use.
type Env struct {
	vars       map[string]string
	clientVars map[string]string // with directories of the host
	node       *Node
	secrets    map[string]string
	warnings   []Warning

	taskDir, sharedDir string // on the host
}

// List returns the variables as sorted "NAME=value" strings, for a process.
func (e *Env) List() []string {
	list := make([]string, 0, len(e.vars))
	for name, value := range e.vars {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// Map returns the variables. The map belongs to the snapshot and must not be
// changed.
func (e *Env) Map() map[string]string { return e.vars }

// Lookup returns the value of the reference ${name}.
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

// Replace replaces the known references ${name} in s: variables, values of the
// node, secrets. Unknown ones are left alone. There is no escape, and
// replacements are not scanned again.
func (e *Env) Replace(s string) string { return Replace(s, e.Lookup) }

// ReplaceAll returns a copy of list with Replace applied to each element.
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

// ReplaceMap returns a copy of m with Replace applied to the keys and values.
// If two keys become equal, the later one in byte order wins.
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
// using the directories of the host, and makes it absolute. Relative paths
// start in the task's directory; with joinEscape, so do absolute ones outside
// of it and of the shared directory of the allocation. It reports whether the
// result is outside of both. It does not follow links.
func (e *Env) ClientPath(p string, joinEscape bool) (abs string, escapes bool) {
	p = Replace(p, func(name string) (string, bool) { return e.lookup(e.clientVars, name) })
	if !filepath.IsAbs(p) || joinEscape && e.outside(p) {
		p = filepath.Join(e.taskDir, p)
	}
	p = filepath.Clean(p)
	return p, e.outside(p)
}

func (e *Env) outside(p string) bool {
	p = filepath.Clean(p)
	return !slices.ContainsFunc([]string{e.taskDir, e.sharedDir}, func(dir string) bool {
		return p == dir || strings.HasPrefix(p, dir+string(filepath.Separator))
	})
}
