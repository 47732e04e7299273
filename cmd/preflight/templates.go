package preflight

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// templates refuses templates that cannot be parsed: their tasks would fail at
// the start.
func templates(c *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
	if !c.executes(t) {
		return nil
	}
	for _, fault := range template.ParseErrors(c.preview(t, 0)) {
		diagnostics = append(diagnostics, brokenTemplate(t.file, t.Task, fault, t.at.Index("template", fault.Template).Attr("data")))
	}
	return diagnostics
}

// templatesTime limits the execution of all templates of a case. The rest is
// not checked before their tasks start.
const templatesTime = 10 * time.Second

// executes reports whether a task has templates, and time is left for them.
func (c *Case) executes(t taskOf) bool {
	return len(t.Templates) > 0 && time.Since(c.began) < templatesTime
}

// previewDir replaces the directory of an allocation that does not exist yet.
const previewDir = "/nonexistent/taskrun"

// previewID replaces the ID of an allocation that does not exist yet.
const previewID = "00000000-0000-0000-0000-000000000000"

// preview returns a task as its templates will see it in one of two runs, 0 and
// 1, as far as that is known. They differ in everything that each run decides.
func (c *Case) preview(t taskOf, run int) (hooks.Task, *taskenv.Env) {
	j, g := t.file.Job, t.group
	id := strings.ReplaceAll(previewID, "0", strconv.Itoa(run))
	info := taskenv.AllocInfo{ID: id, Name: *j.ID + "." + *g.Name + "[0]"}
	b := taskenv.NewBuilder(c.node(), info, j, g, t.Task).SetClientDir(previewDir)
	b.HostEnv, b.Ports = c.Environ, previewPorts(g, run)
	return hooks.Task{Job: j, Group: g, Task: t.Task, AllocDir: previewDir}, b.Build()
}

// previewPorts returns the ports of a group, with dynamic ports that depend on
// the run.
func previewPorts(g *api.TaskGroup, run int) (ports []taskenv.Port) {
	for _, n := range g.Networks {
		for _, p := range slices.Concat(n.ReservedPorts, n.DynamicPorts) {
			ports = append(ports, taskenv.Port{Label: p.Label, Value: cmp.Or(p.Value, run), To: p.To, HostIP: "127.0.0.1"})
		}
	}
	return ports
}

func brokenTemplate(f File, t *api.Task, fault template.ParseError, at jobspec.Path) jobspec.Diagnostic {
	p := jobspec.Diagnostic{
		Summary: fmt.Sprintf("template %q of task %q cannot be parsed: %s", *t.Templates[fault.Template].DestPath, t.Name, fault.Text),
		Path:    at,
	}
	if fault.Near != "" {
		p.Remedy = fmt.Sprintf("did you mean %q?", fault.Near)
	}
	var ok bool
	if p.Range, ok = lineOf(f, f.Positions.At(at), fault.Line); !ok && fault.Line > 1 {
		p.Detail = fmt.Sprintf("in line %d of its text", fault.Line)
	}
	return p
}

// lineOf returns the range of a line of a heredoc. It returns false if the text
// is not a heredoc.
func lineOf(f File, at jobspec.Range, line int) (jobspec.Range, bool) {
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

// fixed is a set of stubs that does not change.
type fixed struct{ stubs *stub.Set }

func (f fixed) Set() *stub.Set           { return f.stubs }
func (f fixed) Changed() <-chan struct{} { return nil }

// Requests returns what the templates of a task request from stubs, by the
// indexes of the file, the group and the task. Prepare must have been called.
func (c *Case) Requests(file, group, task int, stubs *stub.Set) []stub.Request {
	f := c.Files[file]
	g := f.Job.TaskGroups[group]
	t := taskOf{g.Tasks[task], g, f, jobspec.Root.Index("group", group).Index("task", task)}
	if !c.executes(t) {
		return nil
	}
	in := func(run int) []stub.Request {
		hook, env := c.preview(t, run)
		return template.Requests(hook, env, template.Config{Stubs: fixed{stubs}, Services: c.Services})
	}
	requests, others := in(0), in(1)
	for i, r := range requests {
		requests[i].Varies = !slices.Contains(others, r)
	}
	return requests
}

// Machine describes this machine as the jobs see it.
func (c *Case) Machine() *taskenv.Node { return c.node() }
