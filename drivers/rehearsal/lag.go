package rehearsal

import (
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Lag returns a lag of some nanoseconds that differs between all tasks of a job
// and all indexes: tasks of which several would end at one moment end in a fixed
// order, and after all else that happens then.
func Lag(job *api.Job, cfg *drivers.TaskConfig) time.Duration {
	tasks, place := 0, 0
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if *g.Name == cfg.GroupName && t.Name == cfg.Name {
				place = tasks
			}
			tasks++
		}
	}
	index, _ := strconv.Atoi(cfg.Env["NOMAD_ALLOC_INDEX"])
	return time.Duration(1 + index*tasks + place)
}
