package cmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/hooks/secrets"
	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/standin"
	"taskrun/jobspec/taskenv"
)

// unlent finds what the templates and secrets of jobs ask for and nobody lends: it would be
// missing when their tasks start.
func (a *app) unlent(files []jobFile, node *taskenv.Node, around template.Services) (problems jobspec.Problems) {
	world := lent(files)
	local := localServices(files)
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		for i, g := range f.Job.TaskGroups {
			for k, t := range g.Tasks {
				at := jobspec.Root.Index("group", i).Index("task", k)
				found = append(found, unlentSecrets(f.Job, t, world, at)...)
				for _, lack := range a.preview(f.Job, g, t, node, template.Config{Lent: fixed{world}, Services: around}) {
					if !lack.Empty || !local(lack.Need.Label) {
						found = append(found, unlentProblem(t, lack, world, at))
					}
				}
			}
		}
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

// unlentSecrets finds secret blocks whose values nobody lends.
func unlentSecrets(j *api.Job, t *api.Task, world *standin.World, at jobspec.Path) (problems jobspec.Problems) {
	for n, s := range t.Secrets {
		if !secrets.Known(s) {
			continue
		}
		if _, ok := secrets.Lookup(world, j, s); ok {
			continue
		}
		need := secrets.Need(j, s)
		problems = append(problems, jobspec.Problem{
			Summary: fmt.Sprintf("secret %q of task %q is %s %q, which nobody lends", s.Name, t.Name, need.Words(), need.Label),
			Remedy:  addTo(world, need),
			Path:    at.Index("secret", n).Attr("path"),
		})
	}
	return problems
}

func addTo(world *standin.World, need standin.Need) string {
	return fmt.Sprintf("add to %s: %s", cmp.Or(world.File, standin.DefaultName+" beside the job file"), need.Block())
}

// previewDir stands for the directory of an allocation that there is not yet.
const previewDir = "/nonexistent/taskrun"

func (a *app) preview(j *api.Job, g *api.TaskGroup, t *api.Task, node *taskenv.Node, cfg template.Config) []template.Lack {
	if len(t.Templates) == 0 {
		return nil
	}
	task, env := a.previewTask(j, g, t, node)
	return template.Preview(task, env, cfg)
}

// previewTask is a task as its templates will see it, as far as that is known.
func (a *app) previewTask(j *api.Job, g *api.TaskGroup, t *api.Task, node *taskenv.Node) (hooks.Task, *taskenv.Env) {
	info := taskenv.AllocInfo{ID: "00000000-0000-0000-0000-000000000000", Name: *j.ID + "." + *g.Name + "[0]"}
	env := taskenv.NewBuilder(node, info, j, g, t).SetClientDir(previewDir).SetHostEnv(a.environ).SetPorts(previewPorts(g)).Build()
	return hooks.Task{Job: j, Group: g, Task: t, AllocDir: previewDir}, env
}

// previewPorts are the ports of a group as far as they are known.
func previewPorts(g *api.TaskGroup) (ports []taskenv.Port) {
	for _, n := range g.Networks {
		for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
			ports = append(ports, taskenv.Port{Label: p.Label, Value: p.Value, To: p.To, HostIP: "127.0.0.1"})
		}
	}
	return ports
}

// fixed lends what does not change.
type fixed struct{ world *standin.World }

func (f fixed) Lent() *standin.World     { return f.world }
func (f fixed) Changed() <-chan struct{} { return nil }

func unlentProblem(t *api.Task, lack template.Lack, world *standin.World, at jobspec.Path) jobspec.Problem {
	tmpl := t.Templates[lack.Template]
	p := jobspec.Problem{
		Summary: fmt.Sprintf("template %q of task %q asks for %s %q, which nobody lends", *tmpl.DestPath, t.Name, lack.Need.Words(), lack.Need.Label),
		Remedy:  addTo(world, lack.Need),
		Path:    at.Index("template", lack.Template).Attr("data"),
	}
	if lack.Empty {
		p.Severity = jobspec.Warning
		p.Summary = fmt.Sprintf("template %q of task %q asks for service %q, which neither runs here nor is lent", *tmpl.DestPath, t.Name, lack.Need.Label)
		p.Detail = "it gets no instances"
	}
	if name, _, _ := strings.Cut(lack.Need.Label, "@"); strings.Contains(*tmpl.EmbeddedTmpl, name) {
		p.Word = name
	}
	return p
}

// localServices tells of a service whether one of the jobs runs it. Names that
// are known only at run time could be any.
func localServices(files []jobFile) func(name string) bool {
	names := map[string]bool{}
	all := false
	add := func(services []*api.Service) {
		for _, s := range services {
			names[s.Name] = true
			all = all || strings.Contains(s.Name, "$")
		}
	}
	for _, j := range jobs(files) {
		for _, g := range j.TaskGroups {
			add(g.Services)
			for _, t := range g.Tasks {
				add(t.Services)
			}
		}
	}
	return func(name string) bool { return all || names[name] }
}
