// Package preflight checks jobs before anything of them starts: whatever would
// keep them from running as they are written, as diagnostics with a place.
//
// All checks stand in one ordered table, see checks. A check is a function from
// values (jobs, and the stubs, drivers, templates, ports, volumes, networks and
// the machine that they meet) to diagnostics. It starts nothing, and what it
// finds does not depend on the checks before it, so that one call reports
// everything at once. Each row names the entry points that the check applies to:
//
//	Validate    taskrun validate: what is wrong with the files, on any machine
//	Strict      taskrun validate --strict: also what up does otherwise than Nomad
//	Up          taskrun up: everything
//	Rehearse    taskrun rehearse: everything but what only running tasks need
//	Plan        taskrun plan: as Validate; the run, whose machine and flags count,
//	            checks the job as well
//	Update      taskrun update: likewise, with the warnings of Up
//	Cluster     up and plan with --address: the cluster knows the rest
//	Register    the API's register, with APIPlan and APIValidate
//	Dispatch    the API's dispatch, for the jobs that it makes
//
// So what Up refuses Validate refuses too, but for rows that only this machine
// can judge: the drivers it has, its attributes, and what runs on it now.
//
// Prepare comes first. It makes of the jobs what would run: defaults, what the
// task blocks of the stubs change, and the drivers that take the place of
// others. A file with mistakes is checked as far as it could be read, without
// what only follows from them.
//
// Whatever Nomad's own rules say about one job is in jobspec/validate,
// and about one job on a node in jobspec/placement; both are rows here.
package preflight

import (
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/hooks/template"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Entry is a set of entry points.
type Entry uint

// The entry points; see the package comment.
const (
	Validate Entry = 1 << iota
	Strict
	Up
	Rehearse
	Plan
	Update
	Cluster
	Register
	APIPlan
	APIValidate
	Dispatch
)

// File is a job file that was read, or a job that came without one.
type File struct {
	*jobspec.File

	Job  *api.Job // as far as it could be read; nil if that is not enough to be checked
	Name string   // as the user named it
}

// Case is what one entry point has checked, and what the jobs meet.
type Case struct {
	Entry       Entry
	Files       []File
	Stubs       *stub.Set                 // never nil
	StubsBroken bool                      // what they define is not known yet
	Drivers     map[string]drivers.Driver // by name
	Instead     map[string]string         // drivers that run the tasks of others
	Health      *Health                   // of Drivers
	Unheeded    map[string][]Unheeded     // options in the config file, by driver
	Services    template.Services         // that run now; nil for none
	Environ     []string                  // of tasks
	DataDir     string
	MaxAllocs   int // of a job; 0: another program decides

	HostPaths     bool // tasks get the paths of this machine
	EnforceMemory bool // limits are enforced
	MemoryMax     bool // memory_max counts

	replaced   map[*api.Task]replaced
	overridden map[int]bool // task blocks of the stubs that were for a task
	began      time.Time
	node       func() *taskenv.Node
	configs    *catalog.Checker
}

// Prepare makes of the jobs what would run. It must be called once, before
// Check.
func (c *Case) Prepare() {
	c.began = time.Now()
	c.node = sync.OnceValue(c.describeNode)
	c.configs = catalog.NewChecker(c.Drivers)
	c.replaced, c.overridden = map[*api.Task]replaced{}, map[int]bool{}
	for _, f := range c.Files {
		if f.Job == nil {
			continue
		}
		if c.Entry == Dispatch {
			continue // the job runs: it is what it was made
		}
		for used := range c.Stubs.Override(f.Job, f.Positions) {
			c.overridden[used] = true
		}
		f.Job.Canonicalize()
		jobspec.Register(f.Job)
		forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { c.replace(t) })
	}
}

// Check returns the diagnostics of every check of the entry point, in the order
// of the files.
func (c *Case) Check() (diagnostics jobspec.Diagnostics) {
	for _, row := range checks() {
		if row.entries&c.Entry != 0 {
			diagnostics = append(diagnostics, row.find(c)...)
		}
	}
	diagnostics.Sort()
	return diagnostics
}

// perJob makes a check of one that looks at one job at a time.
func perJob(find func(c *Case, f File) jobspec.Diagnostics) func(*Case) jobspec.Diagnostics {
	return func(c *Case) (diagnostics jobspec.Diagnostics) {
		for _, f := range c.Files {
			if f.Job == nil {
				continue
			}
			found := f.Sure(find(c, f))
			f.Place(found)
			diagnostics = append(diagnostics, found...)
		}
		return diagnostics
	}
}

// perTask makes a check of one that looks at one task at a time.
func perTask(find func(c *Case, in taskOf) jobspec.Diagnostics) func(*Case) jobspec.Diagnostics {
	return perJob(func(c *Case, f File) (diagnostics jobspec.Diagnostics) {
		for i, g := range f.Job.TaskGroups {
			for k, t := range g.Tasks {
				at := jobspec.Root.Index("group", i).Index("task", k)
				diagnostics = append(diagnostics, find(c, taskOf{t, g, f, at})...)
			}
		}
		return diagnostics
	})
}

// taskOf is a task with its surroundings in the job, and its path.
type taskOf struct {
	*api.Task

	group *api.TaskGroup
	file  File
	at    jobspec.Path
}

// forTasks calls f with each task and its path.
func forTasks(j *api.Job, f func(t *api.Task, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			f(t, jobspec.Root.Index("group", i).Index("task", k))
		}
	}
}
