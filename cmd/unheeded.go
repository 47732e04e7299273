package cmd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/config"
	"taskrun/drivers"
	"taskrun/jobspec"
)

// unheededOption is an option of a driver in the config file that has no effect.
type unheededOption struct {
	drivers.Unheeded
	at string // where it stands
}

// noteUnheeded keeps what of a driver's options has no effect.
func (a *app) noteUnheeded(p config.Plugin) {
	d, ok := a.drivers()[p.Name].(drivers.Unheeder)
	if !ok {
		return
	}
	if a.unheededOptions == nil {
		a.unheededOptions = map[string][]unheededOption{}
	}
	for _, o := range d.Unheeded(p.Config) {
		a.unheededOptions[p.Name] = append(a.unheededOptions[p.Name], unheededOption{o, p.At(o.Option)})
	}
}

// unheeded tells, for the drivers that run tasks, which of their options in the
// config file have no effect.
func (a *app) unheeded(files []jobFile) (problems jobspec.Problems) {
	used := map[string]bool{}
	for _, f := range files {
		if f.Job != nil {
			forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { used[t.Driver] = true })
		}
	}
	for _, driver := range slices.Sorted(maps.Keys(used)) {
		for _, o := range a.unheededOptions[driver] {
			problems = append(problems, jobspec.Problem{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("%s: option %s of driver %q has no effect", o.at, o.Option, driver),
				Detail:   o.Instead,
			})
		}
	}
	return problems
}
