package preflight

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// File is a job file after reading, or a job from another source.
type File struct {
	*jobspec.File

	Job  *api.Job // the readable part; nil if that is not enough for checks
	Name string   // as named by the user
}

// forTasks calls f with each task and its path.
func forTasks(j *api.Job, f func(t *api.Task, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			f(t, jobspec.Root.Index("group", i).Index("task", k))
		}
	}
}
