package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/grant"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/registry"
	"taskrun/jobspec/validate"
)

// host is shared by the jobs of an engine: the resources of the machine, and the
// bus and the store for their events.
type host struct {
	cfg    Config
	bus    event.Bus
	notice func(format string, args ...any) // publishes a notice
	state  *State
	allocs *allocs
	watch  *driverWatch
	ports  *port.Claims
	cores  *grant.Cores
	files  openFiles

	registry *registry.Registry

	stopping context.Context // done: every job stops
	hard     context.Context // done: every job is killed
	leaving  context.Context // done: every task is left running
	settled  context.Context // done: nothing new starts, for any of these reasons
}

// keyOf returns the key of a job. Only a resident engine obeys namespaces.
func (h *host) keyOf(job *api.Job) string { return h.keyIn(job, *job.ID) }

// keyIn returns the key of the job with an ID in the namespace of another one.
func (h *host) keyIn(job *api.Job, id string) string {
	if !h.cfg.Resident {
		return id
	}
	return event.JobKey(*job.Namespace, id)
}

// checkSize refuses a job with more allocations than a job may have, or with more
// than this process can run besides the others. It comes before anything that is
// done for each allocation of a job. now is the version that the job replaces, or
// nil.
func (h *host) checkSize(job, now *api.Job) error {
	if found := validate.Allocations(job, h.cfg.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return h.files.check(job, now)
}

// mayPlace reports whether the node is eligible for new allocations.
func (h *host) mayPlace() bool { return h.cfg.Node == nil || h.registry.Eligible(h.cfg.Node.ID) }

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
	limit int // for jobs; the rest is for clients and files that are open only briefly
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
