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

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

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

// describeNode is Node for a case. What only looks at files asks no driver.
func (c *Case) describeNode() *taskenv.Node {
	health := c.Health
	if c.Entry&(runs|Update|Dispatch) == 0 {
		health = nil
	}
	node := Node(c.Files, health, c.Stubs.Node)
	node.MemoryOversubscription = c.MemoryMax
	return node
}

// check is a row of the table.
type check struct {
	name    string
	entries Entry
	find    func(c *Case) jobspec.Diagnostics
}

// checks is the table: everything that is checked, in this order. A diagnostic
// that has no place is shown behind the others, in the order of the rows.
func checks() []check {
	return []check{
		// The job alone.
		{"rules of Nomad", jobs | Cluster, perJob(rules)},
		{"number of allocations", jobs | Cluster, perJob(size)},
		{"another job of the same ID", files | Cluster, twins},
		{"task blocks of the stubs", files, withStubs(stubTargets)},

		// Drivers.
		{"driver and its config", jobs, perTask(driverAndConfig)},
		{"health of the driver", runs | Dispatch, withStubs(perJob(unusableDrivers))},
		{"blocks without effect", notices, perJob(gaps)},
		{"network of a group", notices &^ Rehearse, perJob(networks)},
		{"folders in place of volumes", notices &^ Rehearse, withStubs(volumes)},
		{"paths of this machine", notices, perJob(hostPaths)},
		{"isolation", notices, isolation},
		{"options of the config file", notices &^ ofAPI, unheeded},
		{"downloads", jobs, perTask(artifacts)},

		// What a cluster would have.
		{"syntax of templates", jobs, perTask(templates)},
		{"constraints", runs | Update, withStubs(perJob(constraints))},
		{"unknown constraints", Rehearse, withStubs(perJob(unknownConstraints))},
		{"static ports", jobs, staticPorts},
		{"volumes without a stub", Rehearse, withStubs(perJob(stubbedVolumes))},
		{"memory_max", notices, perJob(memoryMax)},
		{"secrets", jobs | Dispatch, withStubs(perTask(missingSecrets))},
		{"keys of templates", jobs | Dispatch, withStubs(missingKeys)},
		{"references between siblings", jobs, perTask(siblings)},
		{"enforced memory limits", Up | Rehearse, memoryLimits},
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
