package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi"
)

// TestMemoryMax checks that memory_max has no effect without memory
// oversubscription, and that registering such a job answers with a warning.
func TestMemoryMax(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{false, true} {
		job := func(priority int) *api.Job {
			task := newTask("t", "run_for", "1h")
			task.Resources = &api.Resources{MemoryMB: new(20), MemoryMaxMB: new(40)}
			job := newJob("job", "service", task)
			job.Priority = new(priority)
			return job
		}
		f := serveWith(t, func(c *httpapi.Config) { c.Node.MemoryOversubscription = enabled }, job(50))
		alloc := f.alloc(f.running("t").ID)
		most := 0
		if enabled {
			most = 40
		}
		memory := alloc.AllocatedResources.Tasks["t"].Memory
		if memory.MemoryMB != 20 || memory.MemoryMaxMB != int64(most) || *alloc.TaskResources["t"].MemoryMaxMB != most || *alloc.Resources.MemoryMaxMB != max(20, most) {
			t.Errorf("enabled %t: allocated %+v, of the task %d, together %d", enabled, memory, *alloc.TaskResources["t"].MemoryMaxMB, *alloc.Resources.MemoryMaxMB)
		}
		if asked := *alloc.Job.TaskGroups[0].Tasks[0].Resources.MemoryMaxMB; asked != 40 {
			t.Errorf("enabled %t: the job has lost its memory_max: %d", enabled, asked)
		}
		validated, _, err := f.client.Jobs().Validate(job(50), nil)
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := f.client.Jobs().Plan(job(60), false, nil)
		if err != nil {
			t.Fatal(err)
		}
		registered, _, err := f.client.Jobs().Register(job(60), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, warnings := range []string{validated.Warnings, plan.Warnings, registered.Warnings} {
			if told := strings.Contains(warnings, `Memory oversubscription is not enabled; Task "g.t" memory_max value will be ignored. Update the Scheduler Configuration to allow oversubscription.`); told == enabled {
				t.Errorf("enabled %t: warnings %q", enabled, warnings)
			}
		}
	}
}
