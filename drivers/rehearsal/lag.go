package rehearsal

import (
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// Lag returns a lag of some nanoseconds that differs between all tasks of jobs, of
// which several may be versions of one, and all indexes of their groups: tasks
// that would end at one moment end in a fixed order, and after all else that
// happens then.
func Lag(cfg *drivers.TaskConfig, jobs ...*api.Job) time.Duration {
	tasks, place := 0, -1
	for _, j := range jobs {
		own := *j.ID == cfg.JobID || *j.ID == cfg.ParentJobID
		for _, g := range j.TaskGroups {
			for _, t := range g.Tasks {
				if place < 0 && own && *g.Name == cfg.GroupName && t.Name == cfg.Name {
					place = tasks
				}
				tasks++
			}
		}
	}
	index, _ := strconv.Atoi(cfg.Env["NOMAD_ALLOC_INDEX"])
	return time.Duration(1 + index*tasks + max(place, 0))
}
