// Package rehearse does a dry run of jobs: it puts mock tasks in the place of the
// real ones, decides how long each runs, and knows when a rehearsal is complete.
package rehearse

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/drivers/rehearsal"
	"taskrun/jobspec"
)

// Rehearsal is a run in which no task runs anything, and everything around the
// tasks happens as it would. Tasks that others wait for end at once with 0; those
// that would run on do so until all that should run has.
type Rehearsal struct {
	// Drivers are mock tasks in the roles of the real ones.
	Drivers map[string]drivers.Driver
	// Lagged: tasks that would end at one moment end in a fixed order, in virtual
	// time.
	Lagged bool

	jobs    []*api.Job
	scripts map[role]rehearsal.Script
	acts    map[act]bool
	offered map[string]int // services that were registered, by allocation
	expect  map[string]int // and the expected ones, by job and group
}

// role is a task of a job, act one of an allocation.
type (
	role struct{ job, group, task string }
	act  struct{ alloc, task string }
)

// New returns a rehearsal with a mock in the role of each driver.
func New(known map[string]drivers.Driver) *Rehearsal {
	r := &Rehearsal{
		scripts: map[role]rehearsal.Script{},
		acts:    map[act]bool{}, offered: map[string]int{}, expect: map[string]int{},
	}
	r.Drivers = Mocks(known, r.script)
	return r
}

// Mocks returns a mock in the role of each driver.
func Mocks(known map[string]drivers.Driver, script func(*drivers.TaskConfig) rehearsal.Script) map[string]drivers.Driver {
	mocks := make(map[string]drivers.Driver, len(known))
	for name, d := range known {
		mocks[name] = rehearsal.New(rehearsal.RoleOf(d), script)
	}
	return mocks
}

func (r *Rehearsal) script(cfg *drivers.TaskConfig) rehearsal.Script {
	s := r.scripts[role{cfg.JobID, cfg.GroupName, cfg.Name}]
	if r.Lagged {
		s.Lag = rehearsal.LagOf(cfg, r.jobs...)
	}
	return s
}

// Admit adds the drivers of Nomad that taskrun does not have: to rehearse their
// tasks it is enough to know their config block. A file with mistakes needs them
// as well, or each would look like another mistake.
func (r *Rehearsal) Admit(files []preflight.File) {
	for _, f := range files {
		if f.Job != nil {
			Admit(r.Drivers, f.Job, r.script)
		}
	}
}

// Admit adds mocks of the drivers of a job that taskrun does not have: those that it
// knows, and plugins, which may have any options.
func Admit(mocks map[string]drivers.Driver, job *api.Job, script func(*drivers.TaskConfig) rehearsal.Script) {
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if mocks[t.Driver] != nil || t.Driver == "" {
				continue
			}
			options := catalog.Schema(t.Driver)
			if options == nil && preflight.IsPlugin(mocks, t.Driver) {
				options = catalog.AnyOptions(job, t.Driver)
			}
			if options == nil {
				continue
			}
			seen := rehearsal.Role{Name: t.Driver, Schema: options, FS: drivers.FSIsolationImage}
			if t.Driver == "exec2" {
				seen.FS = drivers.FSIsolationUnveil
			}
			mocks[t.Driver] = rehearsal.New(seen, script)
		}
	}
}

// Cast gives every task its script. Periodic and parameterized jobs are to run
// once, now, the latter with empty meta.
func (r *Rehearsal) Cast(files []jobfile.File) {
	r.jobs = jobfile.Jobs(files)
	for _, f := range files {
		for _, g := range f.Job.TaskGroups {
			r.castGroup(f, g)
		}
		if p := f.Job.ParameterizedJob; p != nil {
			for _, key := range p.MetaRequired {
				f.Job.SetMeta(key, f.Job.Meta[key])
			}
		}
		f.Job.Periodic, f.Job.ParameterizedJob = nil, nil
	}
}

func (r *Rehearsal) castGroup(f jobfile.File, g *api.TaskGroup) {
	g.ShutdownDelay = nil
	substitute(g)
	r.expect[*f.Job.ID+"/"+*g.Name] = len(g.Services)
	for _, t := range g.Tasks {
		t.ShutdownDelay = 0
		s := rehearsal.For(runFor(f.Job, g, t), 0)
		if asked := f.Stubs.Rehearsal(*f.Job.ID, *g.Name, t.Name); asked != nil {
			s = rehearsal.For(asked.RunFor, asked.ExitCode)
		}
		r.scripts[role{*f.Job.ID, *g.Name, t.Name}] = s
		if !isHook(t, api.TaskLifecycleHookPoststop) {
			r.expect[*f.Job.ID+"/"+*g.Name] += len(t.Services)
		}
	}
}

// substitute removes settings that depend on a machine: users, who may not exist
// here or may not own files.
func substitute(g *api.TaskGroup) {
	for _, t := range g.Tasks {
		t.User = ""
		for _, tmpl := range t.Templates {
			tmpl.Uid, tmpl.Gid = nil, nil
		}
	}
}

func isHook(t *api.Task, hook string) bool { return t.Lifecycle != nil && t.Lifecycle.Hook == hook }

// runFor is how long a task must run for those that wait for it: a main task of
// a batch job as long as others are to start beside it.
func runFor(j *api.Job, g *api.TaskGroup, t *api.Task) time.Duration {
	batch := *j.Type == api.JobTypeBatch || *j.Type == api.JobTypeSysbatch
	switch {
	case t.Lifecycle != nil && !t.Lifecycle.Sidecar:
		return 0
	case t.Lifecycle == nil && batch && !slices.ContainsFunc(g.Tasks, func(t *api.Task) bool {
		return isHook(t, api.TaskLifecycleHookPoststart)
	}):
		return 0
	}
	return rehearsal.Forever
}

// Notice says what a rehearsal is.
func Notice() jobspec.Diagnostic {
	return jobspec.Diagnostic{
		Severity: jobspec.Notice,
		Summary:  "this is a rehearsal: no command is run, no service is probed, no port is opened",
	}
}
