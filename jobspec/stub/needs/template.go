package needs

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// template adds what a template of a task requests. Its execution shows the
// names, its text the keys and the lines.
func (k *needs) template(t *api.Task, index int, at jobspec.Path, requests []stub.Request) {
	tmpl := t.Templates[index]
	where := fmt.Sprintf("template %s of task %s", deref(tmpl.DestPath), t.Name)
	if source := deref(tmpl.SourcePath); source != "" {
		k.unknown(k.line(at.Index("template", index), 0), where+" is read from "+source+" when the task starts")
		return
	}
	var computed []Call
	named := map[stub.Need]bool{}
	for _, c := range Calls(tmpl) {
		line := k.line(at.Index("template", index).Attr("data"), c.Line)
		if c.Argument != "" {
			computed = append(computed, c)
			continue
		}
		if c.Kind == stub.NomadVariable {
			path, namespace, _ := strings.Cut(c.Label, "@")
			c.Label = stub.VariableLabel(path, orNamespace(namespace, k.File.Job))
		}
		named[c.Need] = true
		k.call(c, line, where)
	}
	resolved := map[string]bool{}
	for _, r := range requests {
		isNamed := false
		for n := range named {
			isNamed = isNamed || n.Kind == r.Kind && n.Fits(r.Label, false)
		}
		if isNamed || r.Varies {
			continue
		}
		for _, c := range computed {
			if c.Kind == r.Kind && c.List == r.List {
				resolved[c.Function+c.Argument] = true
				c.Need = r.Need
				k.call(c, k.line(at.Index("template", index).Attr("data"), c.Line), where)
			}
		}
	}
	for _, c := range computed {
		if !resolved[c.Function+c.Argument] {
			k.unknown(k.line(at.Index("template", index).Attr("data"), c.Line),
				fmt.Sprintf("%s asks for a %s by %s, which is computed when the task starts", where, c.Words(), c.Argument))
		}
	}
}

// call adds a call with a known label.
func (k *needs) call(c Call, line int, where string) {
	switch {
	case c.Kind == stub.ServiceBlock && k.isOwn(c.Label):
		return
	case c.KV2:
		c.Label = labelKV2(c.Label)
	case c.List:
		k.unknown(line, fmt.Sprintf("%s lists each %s below %q: add blocks for it to find, such as %s", where, c.Words(), c.Label,
			stub.NeedOf(c.Kind, listedLabel(c.Need)).Block()))
		if c.Optional {
			return
		}
		c.Label = listedLabel(c.Need)
	}
	b := k.add(c.Need, line, where)
	b.optional = b.optional && c.Optional && c.Kind != stub.ServiceBlock
	b.nested = b.nested || c.KV2 && !stub.IsKV2(c.Label)
	b.has(c.Items, c.Samples)
}

// labelKV2 returns the label of a secret of a KV engine version 2: the path as
// Vault's own clients complete it. A path of a single step has none.
func labelKV2(path string) string {
	if mount, rest, ok := strings.Cut(path, "/"); ok && !stub.IsKV2(path) {
		return mount + "/data/" + rest
	}
	return path
}

// listedLabel returns the label of a block that a list finds.
func listedLabel(n stub.Need) string {
	if n.Kind == stub.NomadVariable {
		path, namespace, _ := strings.Cut(n.Label, "@")
		return stub.VariableLabel(strings.Trim(path+"/NAME", "/"), namespace)
	}
	return strings.Trim(n.Label, "/") + "/NAME"
}
