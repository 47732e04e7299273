package preflight

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// File is a job file that was read, or a job that came without one.
type File struct {
	*jobspec.File

	Job  *api.Job // as far as it could be read; nil if that is not enough to be checked
	Name string   // as the user named it
}

// forTasks calls f with each task and its path.
func forTasks(j *api.Job, f func(t *api.Task, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			f(t, jobspec.Root.Index("group", i).Index("task", k))
		}
	}
}
