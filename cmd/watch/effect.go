package watch

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/engine/update"
)

// Effect says what a new version of a job does to its tasks: "2 tasks updated in
// place, 1 replaced". Before is the version until then.
func Effect(plan *update.Plan, before, after *api.Job) string {
	counts := make([]int, len(effects))
	for _, g := range plan.Groups {
		tasks := 0
		for _, job := range []*api.Job{before, after} {
			if group := job.LookupTaskGroup(g.Name); group != nil {
				tasks = len(group.Tasks)
			}
		}
		replaced := len(g.Replace)
		if g.Kind == update.Destructive && len(g.Canary) == 0 {
			replaced += len(g.Ignore) // they wait for their turn
		}
		for i, n := range []int{len(g.InPlace), replaced, len(g.Place), len(g.Stop), len(g.Canary)} {
			counts[i] += n * tasks
		}
	}
	var parts []string
	for i, n := range counts {
		switch {
		case n == 0:
		case len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, effects[i]))
		default:
			parts = append(parts, prose.Count(n, "task")+" "+effects[i])
		}
	}
	if len(parts) == 0 {
		return "no task is affected"
	}
	return strings.Join(parts, ", ")
}

// effects are the effects on tasks.
var effects = []string{"updated in place", "replaced", "started", "stopped", "started as canaries"}
