package cmd

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// brokenTemplates finds templates in job files that cannot be parsed: they would
// fail their tasks at the start.
func (a *app) brokenTemplates(files []jobFile, node *taskenv.Node) (problems jobspec.Problems) {
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		for i, g := range f.Job.TaskGroups {
			for k, t := range g.Tasks {
				if len(t.Templates) == 0 {
					continue
				}
				task, env := a.previewTask(f.Job, g, t, node)
				for _, fault := range template.Faults(task, env) {
					at := jobspec.Root.Index("group", i).Index("task", k).Index("template", fault.Template).Attr("data")
					found = append(found, brokenTemplate(f, t, fault, at))
				}
			}
		}
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

func brokenTemplate(f jobFile, t *api.Task, fault template.Fault, at jobspec.Path) jobspec.Problem {
	p := jobspec.Problem{
		Summary: fmt.Sprintf("template %q of task %q cannot be parsed: %s", *t.Templates[fault.Template].DestPath, t.Name, fault.Text),
		Path:    at,
	}
	var ok bool
	if p.Range, ok = lineOf(f, f.Positions.At(at), fault.Line); !ok && fault.Line > 1 {
		p.Detail = fmt.Sprintf("in line %d of its text", fault.Line)
	}
	return p
}

// lineOf returns the place of a line of a heredoc; false: the text is no
// heredoc.
func lineOf(f jobFile, at jobspec.Range, line int) (jobspec.Range, bool) {
	text := f.Sources[at.File]
	if at.Start.Byte >= len(text) || !bytes.HasPrefix(text[at.Start.Byte:], []byte("<<")) {
		return jobspec.Range{}, false
	}
	start := at.Start.Byte
	for range line {
		next := bytes.IndexByte(text[start:], '\n')
		if next < 0 {
			return jobspec.Range{}, false
		}
		start += next + 1
	}
	content, _, _ := bytes.Cut(text[start:], []byte("\n"))
	indent := len(content) - len(bytes.TrimLeft(content, " \t"))
	at.Start.Line, at.Start.Column, at.Start.Byte = at.Start.Line+line, 1+indent, start+indent
	at.End = at.Start
	at.End.Column, at.End.Byte = 1+len(content), start+len(content)
	return at, true
}
