package preflight

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/secrets"
	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// unfilled refuses placeholders in the stubs that the jobs need. Those of other
// jobs that use the same file may remain.
func unfilled(c *Case) (diagnostics jobspec.Diagnostics) {
	if !c.Stubs.IsFilled() || len(c.Stubs.Todos) == 0 {
		return nil
	}
	told := map[stub.Todo]bool{}
	need := func(todos []stub.Todo, why string) {
		for _, t := range todos {
			if !told[t] {
				told[t] = true
				diagnostics = append(diagnostics, jobspec.Diagnostic{
					Summary: fmt.Sprintf("stub %q %sis not filled in", t.Name, blockOf(t.Need)), Detail: why,
					Remedy: `replace TODO(…) with the value; file(…) and env("NAME") keep secrets out of the file`, Range: t.At,
				})
			}
		}
	}
	for _, f := range c.Files {
		if f.Job == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(references(f.Job))) {
			need(c.Stubs.Unfilled(stub.Need{Kind: stub.NodeBlock, Label: name}, false), fmt.Sprintf("job %q uses ${%s}", *f.Job.ID, name))
		}
		for _, g := range f.Job.TaskGroups {
			for _, name := range slices.Sorted(maps.Keys(g.Volumes)) {
				if v := g.Volumes[name]; v.Type == "host" && isMounted(g, name) {
					need(c.Stubs.Unfilled(stub.Need{Kind: stub.VolumeBlock, Label: sourceOf(v)}, false), fmt.Sprintf("group %q mounts it", *g.Name))
				}
			}
			for _, s := range g.Services {
				for _, name := range stub.Upstreams(s) {
					need(c.Stubs.Unfilled(stub.Need{Kind: stub.ServiceBlock, Label: name}, false), fmt.Sprintf("it is an upstream of group %q", *g.Name))
				}
			}
		}
	}
	_ = perTask(func(c *Case, t taskOf) jobspec.Diagnostics {
		if t.Vault != nil {
			need(c.Stubs.Unfilled(stub.Need{Kind: "vault"}, false), fmt.Sprintf("task %q gets the token", t.Name))
		}
		if t.Consul != nil {
			need(c.Stubs.Unfilled(stub.Need{Kind: "consul"}, false), fmt.Sprintf("task %q gets the token", t.Name))
		}
		for _, s := range t.Secrets {
			if secrets.Known(s) {
				need(c.Stubs.Unfilled(secrets.Need(t.file.Job, s), false), fmt.Sprintf("secret %q of task %q reads it", s.Name, t.Name))
			}
		}
		if !c.executes(t) {
			return nil
		}
		task, env := c.preview(t, 0)
		for _, r := range template.Requests(task, env, template.Config{Stubs: fixed{c.Stubs}, Services: c.Services}) {
			need(c.Stubs.Unfilled(r.Need, r.List), fmt.Sprintf("template %q of task %q reads it", *t.Templates[r.Template].DestPath, t.Name))
		}
		return nil
	})(c)
	for i, t := range c.Stubs.Tasks {
		if c.overridden[i] {
			need(c.Stubs.Unfilled(stub.Need{Kind: "task", Label: t.Target}, false), fmt.Sprintf("task %q is changed by it", t.Target))
		}
	}
	for i, g := range c.Stubs.Groups {
		if c.regrouped[i] {
			need(c.Stubs.Unfilled(stub.Need{Kind: "group", Label: g.Target}, false), fmt.Sprintf("group %q is changed by it", g.Target))
		}
	}
	return diagnostics
}

// blockOf says in which block a placeholder is.
func blockOf(n stub.Need) string {
	if n.Label == "" || n.Kind == stub.NodeBlock {
		return ""
	}
	return fmt.Sprintf("of %s %q ", n.Kind, n.Label)
}

// references returns the names of all ${…} references in a job.
func references(j *api.Job) map[string]bool {
	names := map[string]bool{}
	if text, err := json.Marshal(j); err == nil {
		for name := range taskenv.References(string(text)) {
			names[name] = true
		}
	}
	return names
}

// sourceOf returns the source of a volume for the first allocation.
func sourceOf(v *api.VolumeRequest) string {
	if v.PerAlloc {
		return v.Source + "[0]"
	}
	return v.Source
}
