package cmd

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

// ignoredMemoryMax warns of each memory_max that has no effect.
func ignoredMemoryMax(files []jobFile, node *taskenv.Node) (problems jobspec.Problems) {
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		found := placement.IgnoredMemoryMax(f.Job, node)
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

// enforceMemory has the drivers of the jobs enforce memory limits, and warns of
// those that cannot.
func enforceMemory(files []jobFile, known map[string]drivers.Driver) (problems jobspec.Problems) {
	var names []string
	for _, f := range files {
		forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { names = append(names, t.Driver) })
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		err := errors.New("the driver cannot do that")
		if d, ok := known[name].(drivers.MemoryEnforcer); ok {
			err = d.EnforceMemory()
		}
		if err != nil {
			problems = append(problems, jobspec.Problem{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("memory limits of %s tasks are not enforced", name),
				Detail:   err.Error(),
			})
		}
	}
	return problems
}
