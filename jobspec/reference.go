package jobspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// suspectReferences warns of references that no run will resolve: Nomad keeps
// whatever it does not know as text, so a misspelt name goes unnoticed.
func (p *parser) suspectReferences(job *api.Job) hcl.Diagnostics {
	var diags hcl.Diagnostics
	environment := environmentOf(job, p.opts.Environ)
	for _, ref := range p.scope.Deferred() {
		if isRuntimeName(ref.Root) || environment.has(ref.Root) {
			continue
		}
		diags = append(diags, diagnostic.Warning(ref.Range, fmt.Sprintf("%s is no reference that Nomad knows", ref.Text),
			"it stays in the value as it is written", whatElse(ref)))
	}
	return diags
}

// runtimeRoots are the first parts of names that are resolved when a task is
// placed or runs.
func runtimeRoots() []string {
	return []string{"attr", "meta", "node", "device", "env", "secret", "job", "JOB", "TASKGROUP", "TASK", "BASE"}
}

func isRuntimeName(root string) bool {
	switch root {
	case "VAULT_TOKEN", "VAULT_NAMESPACE", "CONSUL_TOKEN", "CONSUL_HTTP_TOKEN":
		return true // set for tasks with a vault or consul block
	}
	return strings.HasPrefix(root, "NOMAD_") || slices.Contains(runtimeRoots(), root)
}

// whatElse says what a reference that nobody knows may have been meant to be.
func whatElse(ref evaluate.Reference) string {
	if near := diagnostic.Nearest(ref.Root, append(runtimeRoots(), "var", "local")); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if ref.Bare {
		return fmt.Sprintf("for a text, write %q", strings.TrimSuffix(strings.TrimPrefix(ref.Text, "${"), "}"))
	}
	return "for a text, write $" + ref.Text
}

// environment is what the tasks of a job may find in theirs.
type environment struct {
	names map[string]struct{}
	open  bool // a template adds names that are known at run time only
}

// environmentOf returns the names that the tasks set, and those of the host,
// which most drivers pass on.
func environmentOf(job *api.Job, host []string) environment {
	e := environment{names: map[string]struct{}{}}
	for _, entry := range host {
		name, _, _ := strings.Cut(entry, "=")
		e.names[name] = struct{}{}
	}
	for _, group := range job.TaskGroups {
		for _, task := range group.Tasks {
			for name := range task.Env {
				e.names[name] = struct{}{}
			}
			for _, t := range task.Templates {
				e.open = e.open || t.Envvars != nil && *t.Envvars
			}
		}
	}
	return e
}

func (e environment) has(name string) bool {
	_, ok := e.names[name]
	return ok || e.open && name == strings.ToUpper(name)
}
