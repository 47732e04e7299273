package preflight

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// EnforceMemory makes the drivers of the jobs enforce memory limits, and
// returns warnings about those that cannot.
func EnforceMemory(of []File, known map[string]drivers.Driver) (diagnostics jobspec.Diagnostics) {
	var names []string
	for _, f := range of {
		if f.Job != nil {
			forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { names = append(names, t.Driver) })
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		err := errors.New("the driver cannot do that")
		if d, ok := known[name].(drivers.MemoryEnforcer); ok {
			err = d.EnforceMemory()
		}
		if err != nil {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("memory limits of %s tasks are not enforced", name),
				Detail:   err.Error(),
			})
		}
	}
	return diagnostics
}
