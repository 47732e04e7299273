package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/jobspec"
)

// references warns of variables such as NOMAD_PORT_http or NOMAD_META_key, in
// what the task is given, whose port or key does not exist. The variable would be
// empty, or its name stay in the text.
func (t *task) references() {
	for _, key := range slices.Sorted(maps.Keys(t.t.Env)) {
		t.scan(t.t.Env[key], t.at.Attr("env").Attr(key))
	}
	for _, key := range slices.Sorted(maps.Keys(t.t.Config)) {
		at := t.at.Attr("config").Attr(key)
		eachString(t.t.Config[key], func(text string) { t.scan(text, at) })
	}
	for i, tmpl := range t.t.Templates {
		t.scan(deref(orEmpty(tmpl).EmbeddedTmpl), t.at.Index("template", i).Attr("data"))
	}
}

const variablePrefix = "NOMAD_"

// scan looks for the variables in one text, whether they are written as ${X}, $X
// or "X".
func (t *task) scan(text string, at jobspec.Path) {
	for {
		_, rest, found := strings.Cut(text, variablePrefix)
		if !found {
			return
		}
		text = rest
		for _, family := range variableFamilies() {
			tail, ok := strings.CutPrefix(rest, family)
			if !ok {
				continue
			}
			end := strings.IndexFunc(tail, notInName)
			if end < 0 {
				end = len(tail)
			}
			if end == 0 || strings.HasPrefix(tail[end:], "$") || strings.HasPrefix(tail[end:], "%") || strings.HasPrefix(tail[end:], "*") {
				break // the name is put together elsewhere
			}
			if family == metaFamily {
				t.metaReference(tail[:end], at)
			} else {
				t.portVariable(family, tail[:end], at)
			}
			break
		}
	}
}

const metaFamily = "META_"

// variableFamilies are what comes between NOMAD_ and the label or key.
// https://developer.hashicorp.com/nomad/docs/reference/runtime-environment-settings
func variableFamilies() [11]string {
	return [...]string{
		"PORT_", "IP_", "ADDR_", "HOST_PORT_", "HOST_IP_", "HOST_ADDR_",
		"ALLOC_PORT_", "ALLOC_IP_", "ALLOC_ADDR_", "ALLOC_INTERFACE_", metaFamily,
	}
}

func notInName(r rune) bool {
	return r != '_' && r != '-' && r != '.' && !isAlphanumeric(r)
}

// longestKnown reports whether known holds for the name, or for a part of it that
// ends where a sentence or a dash may have been glued to it.
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
			// Ports of another task have its name in front.
			return matches(label) || strings.HasSuffix(name, "_"+label) || strings.HasSuffix(name, "_"+cleanName(label))
		})
	}
	if _, own := t.t.Env[variablePrefix+family+name]; own || longestKnown(name, known) || isInjected(name) {
		return
	}
	all := slices.Concat(t.g.ports.group, t.g.ports.legacy)
	remedy := fmt.Sprintf("add network { port %q {} } to the group", name)
	if near := nearest(name, all); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", variablePrefix+family+cleanName(near))
	}
	t.unset(variablePrefix+family+name, at, fmt.Sprintf("group %q has no port %q", t.g.name, name), remedy)
}

// unset warns of a variable in the text at a path.
func (t *task) unset(variable string, at jobspec.Path, detail, remedy string) {
	t.report(jobspec.Diagnostic{
		Severity: jobspec.Warning, Summary: variable + " is not set", Detail: detail, Remedy: remedy, Path: at, Word: variable,
	})
}

// isInjected tells whether a port may be one that Nomad adds for a proxy of
// Consul or for a check that goes through it.
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
	if near := nearest(name, keys); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", variablePrefix+metaFamily+cleanName(near))
	}
	owner := fmt.Sprintf("task %q", t.t.Name)
	if t.t.Name == "" {
		owner = fmt.Sprintf("group %q", t.g.name)
	}
	t.unset(variablePrefix+metaFamily+name, at, fmt.Sprintf("%s has no meta key %q", owner, name), remedy)
}

// metaKeys are the keys that reach the task, in dispatched jobs too.
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

// cleanName returns a label as it shows in the names of variables.
func cleanName(label string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || isAlphanumeric(r) {
			return r
		}
		return '_'
	}, label)
}

// replaceReferences puts a word in the place of every ${NAME}.
func replaceReferences(text, word string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, notInName)
		if end <= 0 || after[end] != '}' {
			b.WriteString("${")
			text = after
			continue
		}
		b.WriteString(word)
		text = after[end+1:]
	}
}

// hasReference reports whether a text holds a ${NAME}.
func hasReference(text string) bool { return replaceReferences(text, "") != text }

// eachString visits the strings in a value of a free-form block.
func eachString(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []string:
		for _, s := range v {
			visit(s)
		}
	case []any:
		for _, e := range v {
			eachString(e, visit)
		}
	case []map[string]any:
		for _, m := range v {
			eachString(m, visit)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachString(v[key], visit)
		}
	}
}
