package cmd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

// unisolated says once that there is no isolation, where a job asks for some.
func unisolated(files []jobFile, known map[string]drivers.Driver) (problems jobspec.Problems) {
	names, options := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
			without, ok := catalog.Unisolated(known[t.Driver])
			if !ok {
				return
			}
			if len(names) == 0 {
				found = append(found, jobspec.Problem{Severity: jobspec.Warning, Path: at.Attr("driver")})
			}
			names[fmt.Sprintf("%q", t.Driver)] = true
			for _, option := range without {
				if t.Config[option] != nil {
					options[option] = true
				}
			}
		})
		f.Place(found)
		problems = append(problems, found...)
	}
	if len(problems) == 0 {
		return nil
	}
	list := func(set map[string]bool, and string) string { return strings.Join(slices.Sorted(maps.Keys(set)), and) }
	p := &problems[0]
	p.Summary = fmt.Sprintf("there is no isolation for %s tasks: they run as those of raw_exec do", list(names, " and "))
	p.Detail = "they see the files and processes of this machine; without user they run as you, where Nomad takes nobody"
	if len(options) > 0 {
		p.Detail += "; without effect: " + list(options, ", ")
	}
	return problems
}
