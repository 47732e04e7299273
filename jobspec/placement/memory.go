package placement

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// IgnoredMemoryMax returns a warning for each memory_max of a job that has no
// effect on the node: without memory oversubscription, memory is the limit.
// See https://developer.hashicorp.com/nomad/docs/job-specification/resources#memory-oversubscription.
func IgnoredMemoryMax(job *api.Job, node *taskenv.Node) (diagnostics jobspec.Diagnostics) {
	if node.MemoryOversubscription {
		return nil
	}
	for i, g := range job.TaskGroups {
		for k, t := range g.Tasks {
			if t.Resources == nil || t.Resources.MemoryMaxMB == nil || *t.Resources.MemoryMaxMB == 0 {
				continue
			}
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("Memory oversubscription is not enabled; Task %q memory_max value will be ignored", *g.Name+"."+t.Name), // Nomad's words
				Remedy:   "--memory-oversubscription enables it",
				Path:     jobspec.Root.Index("group", i).Index("task", k).Attr("resources").Attr("memory_max"),
			})
		}
	}
	return diagnostics
}
