package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

// isolation warns once that there is none, where a job asks for some.
func isolation(c *Case) jobspec.Problems {
	names, options := map[string]bool{}, map[string]bool{}
	problems := perTask(func(c *Case, t taskOf) (problems jobspec.Problems) {
		without, ok := catalog.Unisolated(c.Drivers[t.Driver])
		if !ok {
			return nil
		}
		if len(names) == 0 {
			problems = append(problems, jobspec.Problem{Severity: jobspec.Warning, Path: t.at.Attr("driver")})
		}
		names[fmt.Sprintf("%q", t.Driver)] = true
		for _, option := range without {
			if t.Config[option] != nil {
				options[option] = true
			}
		}
		return problems
	})(c)
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
