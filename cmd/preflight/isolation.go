package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

// otherUsers warns about a task that only root can start, because it names another user.
func otherUsers(c *Case, t taskOf) jobspec.Diagnostics {
	if !catalog.OnlyRoot(c.Drivers[t.Driver], t.User) {
		return nil
	}
	return jobspec.Diagnostics{{
		Severity: jobspec.Warning, Path: t.at.Attr("user"), Summary: fmt.Sprintf("task %q will not start: only root can start it as user %q", t.Name, t.User),
		Remedy: "run taskrun as root, or remove user",
	}}
}

// isolation warns once that tasks are not isolated, although their driver
// isolates them in Nomad.
func isolation(c *Case) jobspec.Diagnostics {
	names, options := map[string]bool{}, map[string]bool{}
	diagnostics := perTask(func(c *Case, t taskOf) (diagnostics jobspec.Diagnostics) {
		without, ok := catalog.Unisolated(c.Drivers[t.Driver])
		if !ok {
			return nil
		}
		if len(names) == 0 {
			diagnostics = append(diagnostics, jobspec.Diagnostic{Severity: jobspec.Warning, Path: t.at.Attr("driver")})
		}
		names[fmt.Sprintf("%q", t.Driver)] = true
		for _, option := range without {
			if t.Config[option] != nil {
				options[option] = true
			}
		}
		return diagnostics
	})(c)
	if len(diagnostics) == 0 {
		return nil
	}
	list := func(set map[string]bool, and string) string { return strings.Join(slices.Sorted(maps.Keys(set)), and) }
	p := &diagnostics[0]
	p.Summary = fmt.Sprintf("%s tasks are not isolated: they run like raw_exec tasks", list(names, " and "))
	p.Detail = "they see the files and processes of this machine; without \"user\" they run as you, in Nomad as the user nobody"
	if len(options) > 0 {
		p.Detail += "; without effect: " + list(options, ", ")
	}
	return diagnostics
}
