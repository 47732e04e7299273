package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
)

// longestKnown reports whether known accepts the name, or a prefix of it that
// ends where a sentence or a dash may follow the name.
func longestKnown(name string, known func(string) bool) bool {
	for name != "" {
		if known(name) {
			return true
		}
		name = name[:max(0, strings.LastIndexAny(name, "-."))]
	}
	return false
}

func (t *task) portVariable(family, name string, at jobspec.Path) {
	known := func(name string) bool {
		matches := func(label string) bool { return label == name || cleanName(label) == name }
		return slices.ContainsFunc(t.g.ports.group, matches) || slices.ContainsFunc(t.g.ports.legacy, func(label string) bool {
			// Ports of another task are preceded by the task's name.
			return matches(label) || strings.HasSuffix(name, "_"+label) || strings.HasSuffix(name, "_"+cleanName(label))
		})
	}
	if _, own := t.t.Env[variablePrefix+family+name]; own || longestKnown(name, known) || isInjected(name) {
		return
	}
	all := slices.Concat(t.g.ports.group, t.g.ports.legacy)
	remedy := fmt.Sprintf("add port %q {} to a network block of the group", name)
	if near := diagnostic.Nearest(name, all); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", variablePrefix+family+cleanName(near))
	}
	t.unset(variablePrefix+family+name, at, fmt.Sprintf("group %q has no port %q", t.g.name, name), remedy)
}

func (t *task) unset(variable string, at jobspec.Path, detail, remedy string) {
	t.report(jobspec.Diagnostic{
		Severity: jobspec.Warning, Summary: variable + " is not set", Detail: detail, Remedy: remedy, Path: at, Word: variable,
	})
}

// isInjected reports whether a port may be one that Nomad adds for a Consul
// proxy or for a check through one.
func isInjected(name string) bool {
	name = cleanName(name)
	return strings.HasPrefix(name, "connect_") || strings.HasPrefix(name, "svc_")
}

func (t *task) metaReference(name string, at jobspec.Path) {
	keys := t.metaKeys()
	known := func(name string) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return key == name || cleanName(key) == name || cleanName(strings.ToUpper(key)) == name || strings.Contains(key, "${")
		})
	}
	if _, own := t.t.Env[variablePrefix+metaFamily+name]; own || longestKnown(name, known) {
		return
	}
	remedy := fmt.Sprintf("add meta { %s = … } to the job, the group or the task", name)
	if near := diagnostic.Nearest(name, keys); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", variablePrefix+metaFamily+cleanName(near))
	}
	owner := fmt.Sprintf("task %q", t.t.Name)
	if t.t.Name == "" {
		owner = fmt.Sprintf("group %q", t.g.name)
	}
	t.unset(variablePrefix+metaFamily+name, at, fmt.Sprintf("%s has no meta key %q", owner, name), remedy)
}

// metaKeys returns the meta keys of the task, including those of dispatched
// jobs.
func (t *task) metaKeys() []string {
	keys := slices.Sorted(maps.Keys(t.t.Meta))
	keys = slices.AppendSeq(keys, maps.Keys(t.g.tg.Meta))
	keys = slices.AppendSeq(keys, maps.Keys(t.job.Meta))
	if p := t.job.ParameterizedJob; p != nil {
		keys = slices.Concat(keys, p.MetaRequired, p.MetaOptional)
	}
	slices.Sort(keys)
	return keys
}
