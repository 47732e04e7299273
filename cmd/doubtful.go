package cmd

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// doubtful warns of variables that refer to others of the same env or meta
// block: it works here, and on a cluster only by chance.
func doubtful(files []jobFile) (problems jobspec.Problems) {
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		for i, g := range f.Job.TaskGroups {
			for k, t := range g.Tasks {
				if !refers(t.Env) && !refers(t.Meta) && !refers(g.Meta) && !refers(f.Job.Meta) {
					continue
				}
				env := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, f.Job, g, t).Build()
				for _, w := range env.Warnings() {
					if w.Kind != taskenv.UnknownReference { // which may be known at run time
						found = append(found, doubt(t, w, jobspec.Root.Index("group", i).Index("task", k)))
					}
				}
			}
		}
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

func refers(block map[string]string) bool {
	for _, value := range block {
		if strings.Contains(value, "${") {
			return true
		}
	}
	return false
}

func doubt(t *api.Task, w taskenv.Warning, at jobspec.Path) jobspec.Problem {
	p := jobspec.Problem{
		Severity: jobspec.Warning,
		Summary:  fmt.Sprintf("task %q: %s", t.Name, w),
		Remedy:   "write the value in both, or compute it with a local",
		Path:     at.Attr("meta"),
	}
	if _, ok := t.Env[w.Variable]; ok {
		p.Path, p.Word = at.Attr("env").Attr(w.Variable), "${"+w.Reference+"}"
	}
	return p
}
