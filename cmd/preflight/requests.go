package preflight

import (
	"slices"

	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

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
