package preflight

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/secrets"
	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// missingKeys finds values of a cluster that templates need and no stub
// defines: their tasks would wait for them.
func missingKeys(c *Case) jobspec.Diagnostics {
	local := localServices(c.Files)
	return perTask(func(c *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
		if !c.executes(t) {
			return nil
		}
		task, env := c.preview(t, 0)
		_, other := c.preview(t, 1)
		for _, lack := range template.Preview(task, [2]*taskenv.Env{env, other}, template.Config{Stubs: fixed{c.Stubs}, Services: c.Services}) {
			switch {
			case len(c.Stubs.Unfilled(lack.Need, false)) > 0: // reported by unfilled
			case lack.Empty && (local(lack.Need.Label) || c.Entry&(Validate|Plan|APIValidate) != 0): // depends on what is running
			default:
				diagnostics = append(diagnostics, lackOf(c, t, lack))
			}
		}
		return diagnostics
	})(c)
}

// missingSecrets finds secret blocks whose values no stub defines.
func missingSecrets(c *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
	for n, s := range t.Secrets {
		if !secrets.Known(s) {
			continue
		}
		if _, ok := secrets.Lookup(c.Stubs, t.file.Job, s); ok {
			continue
		}
		need := secrets.Need(t.file.Job, s)
		if len(c.Stubs.Unfilled(need, false)) > 0 {
			continue // reported by unfilled
		}
		diagnostics = append(diagnostics, jobspec.Diagnostic{
			Summary: fmt.Sprintf("secret %q of task %q is %s %q, which is not set: no stub defines it", s.Name, t.Name, need.Words(), need.Label),
			Remedy:  addTo(c.Stubs, need),
			Path:    t.at.Index("secret", n).Attr("path"),
		})
	}
	return diagnostics
}

func addTo(stubs *stub.Set, need stub.Need) string {
	return fmt.Sprintf("add to %s: %s", cmp.Or(stubs.File, stub.DefaultName+" beside the job file"), need.Block())
}

// lackOf returns the diagnostic for a missing value of a template. In a
// rehearsal, whose purpose is to find out whether a cluster would suffice, a
// service without instances is an error.
func lackOf(c *Case, t taskOf, lack template.Lack) jobspec.Diagnostic {
	tmpl := t.Templates[lack.Template]
	p := jobspec.Diagnostic{
		Summary: fmt.Sprintf("template %q of task %q needs %s %q, which is not set: no stub defines it", *tmpl.DestPath, t.Name, lack.Need.Words(), lack.Need.Label),
		Remedy:  addTo(c.Stubs, lack.Need),
		Path:    t.at.Index("template", lack.Template).Attr("data"),
	}
	switch name := strings.ReplaceAll(lack.Need.Label, previewID, "${NOMAD_ALLOC_ID}"); {
	case lack.Empty:
		p.Summary = fmt.Sprintf("template %q of task %q needs service %q, which is not running here: no stub defines it", *tmpl.DestPath, t.Name, name)
		p.Detail = "it gets no instances"
		if c.Entry != Rehearse {
			p.Severity = jobspec.Warning
		}
	case lack.Varies:
		p.Severity = jobspec.Warning
		p.Summary = fmt.Sprintf("template %q of task %q needs %s %q, which no stub can define", *tmpl.DestPath, t.Name, lack.Need.Words(), name)
		p.Detail, p.Remedy = "its name differs in each run; the task fails without it", ""
	}
	if name, _, _ := strings.Cut(lack.Need.Label, "@"); strings.Contains(*tmpl.EmbeddedTmpl, name) {
		p.Word = name
	}
	return p
}

// localServices returns a function that reports whether one of the jobs has a
// service with a name. A name that is only known at run time could be any.
func localServices(files []File) func(name string) bool {
	names := map[string]bool{}
	all := false
	add := func(services []*api.Service) {
		for _, s := range services {
			names[s.Name] = true
			all = all || strings.Contains(s.Name, "$")
		}
	}
	for _, f := range withJobs(files) {
		for _, g := range f.Job.TaskGroups {
			add(g.Services)
			for _, t := range g.Tasks {
				add(t.Services)
			}
		}
	}
	return func(name string) bool { return all || names[name] }
}
