package preflight

import (
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
func unfilled(c *Case) jobspec.Diagnostics {
	if !c.Stubs.IsFilled() || len(c.Stubs.Todos) == 0 {
		return nil
	}
	todos := &todos{stubs: c.Stubs, told: map[stub.Todo]bool{}}
	for _, f := range withJobs(c.Files) {
		todos.ofJob(f.Job)
	}
	_ = perTask(func(c *Case, t taskOf) jobspec.Diagnostics {
		todos.ofTask(c, t)
		return nil
	})(c)
	for i, t := range c.Stubs.Tasks {
		if c.changes.Tasks[i] {
			todos.need("task", t.Target, "task %q is changed by it", t.Target)
		}
	}
	for i, g := range c.Stubs.Groups {
		if c.changes.Groups[i] {
			todos.need("group", g.Target, "group %q is changed by it", g.Target)
		}
	}
	return todos.diagnostics
}

// todos collects the placeholders that jobs need, each once.
type todos struct {
	stubs       *stub.Set
	told        map[stub.Todo]bool
	diagnostics jobspec.Diagnostics
}

// need adds the placeholders in a block, with the reason why the job needs it.
func (l *todos) need(kind, label, why string, args ...any) {
	l.add(l.stubs.Unfilled(stub.Need{Kind: kind, Label: label}, false), why, args...)
}

func (l *todos) add(unfilled []stub.Todo, why string, args ...any) {
	for _, t := range unfilled {
		if l.told[t] {
			continue
		}
		l.told[t] = true
		l.diagnostics = append(l.diagnostics, jobspec.Diagnostic{
			Summary: fmt.Sprintf("stub %q %sis not filled in", t.Name, blockOf(t.Need)), Detail: fmt.Sprintf(why, args...),
			Remedy: `replace TODO(…) with the value; file(…) and env("NAME") keep secrets out of the file`, Range: t.At,
		})
	}
}

func (l *todos) ofJob(j *api.Job) {
	for _, name := range slices.Sorted(maps.Keys(taskenv.ReferencesIn(j))) {
		l.need(stub.NodeBlock, name, "job %q uses ${%s}", *j.ID, name)
	}
	for _, g := range j.TaskGroups {
		for _, name := range slices.Sorted(maps.Keys(g.Volumes)) {
			if v := g.Volumes[name]; v.Type == "host" && isMounted(g, name) {
				l.need(stub.VolumeBlock, sourceOf(v), "group %q mounts it", *g.Name)
			}
		}
		for _, s := range g.Services {
			for _, name := range stub.Upstreams(s) {
				l.need(stub.ServiceBlock, name, "it is an upstream of group %q", *g.Name)
			}
		}
	}
}

func (l *todos) ofTask(c *Case, t taskOf) {
	if t.Vault != nil {
		l.need("vault", "", "task %q gets the token", t.Name)
	}
	if t.Consul != nil {
		l.need("consul", "", "task %q gets the token", t.Name)
	}
	for _, a := range t.Artifacts {
		l.need(stub.ArtifactBlock, *a.GetterSource, "task %q downloads it", t.Name)
	}
	for _, s := range t.Secrets {
		if secrets.Known(s) {
			need := secrets.Need(t.file.Job, s)
			l.need(need.Kind, need.Label, "secret %q of task %q reads it", s.Name, t.Name)
		}
	}
	if !c.executes(t) {
		return
	}
	task, env := c.preview(t, 0)
	for _, r := range template.Requests(task, env, template.Config{Stubs: fixed{c.Stubs}, Services: c.Services}) {
		l.add(c.Stubs.Unfilled(r.Need, r.List), "template %q of task %q reads it", *t.Templates[r.Template].DestPath, t.Name)
	}
}

func blockOf(n stub.Need) string {
	if n.Label == "" || n.Kind == stub.NodeBlock {
		return ""
	}
	return fmt.Sprintf("of %s %q ", n.Kind, n.Label)
}
