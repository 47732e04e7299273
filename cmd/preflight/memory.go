package preflight

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/placement"
	"taskrun/jobspec/taskenv"
)

// memoryMax warns of each memory_max that has no effect.
func memoryMax(c *Case, f File) jobspec.Diagnostics {
	diagnostics := placement.IgnoredMemoryMax(f.Job, &taskenv.Node{MemoryOversubscription: c.MemoryMax})
	if c.Entry&ofAPI != 0 {
		for i := range diagnostics {
			diagnostics[i].Summary += ". Update the Scheduler Configuration to allow oversubscription." // Nomad's words
		}
	}
	return diagnostics
}

func memoryLimits(c *Case) jobspec.Diagnostics {
	if !c.EnforceMemory {
		return nil
	}
	return EnforceMemory(c.Files, c.Drivers)
}

// EnforceMemory has the drivers of the jobs enforce memory limits, and warns of
// those that cannot.
func EnforceMemory(files []File, known map[string]drivers.Driver) (diagnostics jobspec.Diagnostics) {
	var names []string
	for _, f := range files {
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
