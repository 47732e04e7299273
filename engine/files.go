package engine

import (
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/nomad/api"
)

// Descriptors that stay open as long as a job, an allocation and a task live.
const (
	filesOfJob   = 2
	filesOfAlloc = 3
	filesOfTask  = 5
)

// openFiles counts the descriptors of living jobs. A process without any left
// could not even stop its jobs and remove their directories, so jobs beyond its
// limit are refused.
type openFiles struct {
	limit int // for jobs; the rest is for clients, and for what is open only shortly
	used  atomic.Int64
}

// check refuses a job that needs more descriptors than are left. now is the
// version that it replaces, or nil.
func (f *openFiles) check(job, now *api.Job) error {
	needs, left := filesOf(job), max(0, f.limit-int(f.used.Load()))
	if more := needs - filesOf(now); more <= 0 || more <= left {
		return nil
	}
	return fmt.Errorf("the job needs about %d open files, and of the %d that jobs may have in this process, %d are left: "+
		"stop other jobs, lower the count, or raise the limit (ulimit -n) and start taskrun again", needs, f.limit, left)
}

// filesOf returns how many descriptors a job needs.
func filesOf(job *api.Job) int {
	if job == nil || isStopped(job) || launches(job) {
		return 0
	}
	n := filesOfJob
	for _, g := range job.TaskGroups {
		n += *g.Count * filesOfGroup(g)
	}
	return n
}

// filesOfGroup returns how many descriptors an allocation of a group needs.
func filesOfGroup(g *api.TaskGroup) int { return filesOfAlloc + len(g.Tasks)*filesOfTask }

// launches reports whether a job is periodic or parameterized: it runs only
// through the jobs that it launches.
func launches(job *api.Job) bool { return job.IsPeriodic() || job.IsParameterized() }

// isStopped reports whether a version of a job says that nothing of it runs.
func isStopped(job *api.Job) bool { return job.Stop != nil && *job.Stop }
