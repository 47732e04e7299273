package preflight

import (
	"slices"
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

// Entry points; see the package comment.
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
	Outline
)

// Sets of entry points.
const (
	ofAPI   = Register | APIPlan | APIValidate
	runs    = Up | Rehearse | Register | APIPlan // on this machine, now
	files   = Validate | Strict | Up | Rehearse | Plan | Update
	jobs    = files | ofAPI
	notices = Strict | Up | Rehearse | Update | ofAPI // differences from Nomad
)

// Case is the input of a check: an entry point, jobs and their surroundings.
type Case struct {
	Entry       Entry
	Files       []File
	Stubs       *stub.Set                 // never nil
	StubsBroken bool                      // the stubs are not known yet
	Drivers     map[string]drivers.Driver // by name
	Instead     map[string]string         // drivers that replace others, by the replaced driver
	Health      *Health                   // of Drivers
	Unheeded    map[string][]Unheeded     // options in the config file, by driver
	Services    template.Services         // that run now; nil for none
	HostVolume  func(source string) bool  // whether an engine has a host volume; nil: it has none
	Taken       func(port int) error      // says who uses a port of this machine; nil: not checked
	Environ     []string                  // inherited by tasks
	DataDir     string
	MaxAllocs   int // of a job; 0: left to a cluster

	Download      bool // artifacts, in a rehearsal
	HostPaths     bool // tasks get the paths of this machine
	EnforceMemory bool // limits are enforced
	MemoryMax     bool // memory_max has an effect

	replaced map[*api.Task]replaced
	changes  stub.Changes // of all jobs
	began    time.Time
	node     func() *taskenv.Node
	configs  *catalog.Checker
}

// Unheeded is an option of a driver in the config file that has no effect.
type Unheeded struct {
	drivers.Unheeded

	At string // where it was set
}

// replaced describes a task whose driver was replaced.
type replaced struct {
	driver string
	config map[string]any
	left   []string // options that the new driver does not have
}

// taskOf is a task with its job and group, and its path.
type taskOf struct {
	*api.Task

	group *api.TaskGroup
	file  File
	at    jobspec.Path
}

// perJob converts a check of one job to a check of a case.
func perJob(find func(c *Case, f File) jobspec.Diagnostics) func(*Case) jobspec.Diagnostics {
	return func(c *Case) (diagnostics jobspec.Diagnostics) {
		for _, f := range withJobs(c.Files) {
			found := f.Sure(find(c, f))
			f.Place(found)
			diagnostics = append(diagnostics, found...)
		}
		return diagnostics
	}
}

// perTask converts a check of one task to a check of a case.
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

// withStubs returns a check that is skipped if the stubs are broken.
func withStubs(find func(*Case) jobspec.Diagnostics) func(*Case) jobspec.Diagnostics {
	return func(c *Case) jobspec.Diagnostics {
		if c.StubsBroken {
			return nil
		}
		return find(c)
	}
}

// File is a job file after reading, or a job from another source.
type File struct {
	*jobspec.File

	Job  *api.Job // the readable part; nil if that is not enough for checks
	Name string   // as named by the user
}

func withJobs(files []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Job == nil })
}

// driversOf returns the names of the drivers that tasks of jobs name.
func driversOf(files []File) map[string]bool {
	names := map[string]bool{}
	for _, f := range withJobs(files) {
		forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { names[t.Driver] = true })
	}
	return names
}

func forTasks(j *api.Job, f func(t *api.Task, at jobspec.Path)) {
	for i, g := range j.TaskGroups {
		for k, t := range g.Tasks {
			f(t, jobspec.Root.Index("group", i).Index("task", k))
		}
	}
}
