package preflight

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// Unheeded is an option of a driver in the config file that has no effect.
type Unheeded struct {
	drivers.Unheeded

	At string // where it stands
}

// unheeded returns a warning for each option in the config file that has no effect
// on a driver that runs tasks.
func unheeded(c *Case) (diagnostics jobspec.Diagnostics) {
	used := map[string]bool{}
	for _, f := range c.Files {
		if f.Job != nil {
			forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { used[t.Driver] = true })
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(used)) {
		for _, o := range c.Unheeded[driver] {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("%s: option %s of driver %q has no effect", o.At, o.Option, driver),
				Detail:   o.Instead,
			})
		}
	}
	return diagnostics
}
