package preflight

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// siblings warns about variables that refer to others in the same env or meta
// block: that works here, but on a cluster only by chance.
func siblings(_ *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
	if !refers(t.Env) && !refers(t.Meta) && !refers(t.group.Meta) && !refers(t.file.Job.Meta) {
		return nil
	}
	env := taskenv.NewBuilder(nil, taskenv.AllocInfo{}, t.file.Job, t.group, t.Task).Build()
	for _, w := range env.Warnings() {
		if w.Kind != taskenv.UnknownReference { // it may be known at run time
			diagnostics = append(diagnostics, linkWarning(t.Task, w, t.at))
		}
	}
	return diagnostics
}

func refers(block map[string]string) bool {
	for _, value := range block {
		if strings.Contains(value, "${") {
			return true
		}
	}
	return false
}

func linkWarning(t *api.Task, w taskenv.Warning, at jobspec.Path) jobspec.Diagnostic {
	p := jobspec.Diagnostic{
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
