package jobspec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
)

// suspectReferences warns about references that no run can resolve.
// Nomad keeps them as text, so that a misspelled name goes unnoticed.
func (p *parser) suspectReferences(job *api.Job) {
	environment := environmentOf(job, p.opts.Environ)
	suspects := slices.DeleteFunc(slices.Clone(p.scope.Deferred()), func(ref evaluate.Reference) bool {
		return isRuntimeName(ref.Root) || environment.has(ref.Root)
	})
	if len(suspects) == 0 {
		return
	}
	scripts := p.file.Positions.stretchesOf(isTemplateData)
	configs := p.file.Positions.stretchesOf(isTaskConfig)
	for _, ref := range suspects {
		at, outcome, dollars := p.place(ref.Range), "it stays in the value as it is written", "$"
		switch {
		case scripts.contain(at):
			continue
		case configs.contain(at):
			outcome, dollars = "the task fails when it starts", "$$"
		}
		p.warn(ref.Range, fmt.Sprintf("%s is not a reference that Nomad knows", ref.Text), outcome, whatElse(ref, dollars))
	}
}

// runtimeRoots returns the first parts of names that are resolved when a task
// is placed or started.
func runtimeRoots() []string {
	return []string{"attr", "meta", "node", "device", "env", "secret", "job", "JOB", "TASKGROUP", "TASK", "BASE"}
}

func isRuntimeName(root string) bool {
	switch root {
	case "VAULT_TOKEN", "VAULT_NAMESPACE", "CONSUL_TOKEN", "CONSUL_HTTP_TOKEN", "CSI_ENDPOINT":
		return true // set for tasks with a vault, consul or csi_plugin block
	}
	return strings.HasPrefix(root, "NOMAD_") || slices.Contains(runtimeRoots(), root)
}

// whatElse returns the remedy for an unknown reference. The dollars, placed
// before the text, make it a literal ${.
func whatElse(ref evaluate.Reference, dollars string) string {
	if remedy := diagnostic.DidYouMean(ref.Root, append(runtimeRoots(), "var", "local")); remedy != "" {
		return remedy
	}
	if ref.Bare {
		return fmt.Sprintf("for a text, write %q", strings.TrimSuffix(strings.TrimPrefix(ref.Text, "${"), "}"))
	}
	return "for a text, write " + dollars + ref.Text
}

// stretches are sorted ranges of one file that do not overlap.
type stretches []Range

// isTemplateData reports whether a path is the data of a template block.
// References there are never resolved: ${name} belongs to a script in the
// template.
func isTemplateData(path Path) bool {
	parent, ok := strings.CutSuffix(string(path), ".data")
	return ok && Path(parent).Name() == "template"
}

// isTaskConfig reports whether a path is in the config block of a task, where an
// unknown reference fails the task.
func isTaskConfig(path Path) bool {
	task, _, ok := strings.Cut(string(path), ".config.")
	return ok && Path(task).Name() == "task"
}

// stretchesOf returns the ranges of the paths that wanted selects.
func (ps Positions) stretchesOf(wanted func(Path) bool) stretches {
	var found stretches
	for path, at := range ps {
		if wanted(path) {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Start.Byte, b.Start.Byte), cmp.Compare(b.End.Byte, a.End.Byte))
	})
	whole := found[:0]
	for _, at := range found { // omits ranges inside of others
		if last := len(whole) - 1; last < 0 || at.End.Byte > whole[last].End.Byte {
			whole = append(whole, at)
		}
	}
	return whole
}

func (s stretches) contain(r Range) bool {
	i, found := slices.BinarySearchFunc(s, r.Start.Byte, func(at Range, offset int) int {
		return cmp.Compare(at.Start.Byte, offset)
	})
	if !found {
		i--
	}
	return i >= 0 && s[i].File == r.File && r.End.Byte <= s[i].End.Byte
}

// environment holds the names of variables that the tasks of a job may have.
type environment struct {
	names map[string]struct{}
	open  bool // a template adds unknown names at run time
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
