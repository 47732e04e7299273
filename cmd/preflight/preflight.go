// Package preflight checks jobs before any of them starts. It reports everything
// that would keep them from running as written, as diagnostics with a place.
//
// All checks are in one ordered table, see checks. A check is a function from
// values (jobs, and their stubs, drivers, templates, ports, volumes, networks and
// machine) to diagnostics. It starts nothing, and its result does not depend on
// earlier checks, so that one call reports everything at once. Each row has the
// entry points to which the check applies:
//
//	Validate    taskrun validate: errors in the files, on any machine
//	Strict      taskrun validate --strict: also differences between up and Nomad
//	Up          taskrun up: everything
//	Rehearse    taskrun rehearse: everything except what only running tasks need
//	Plan        taskrun plan: like Validate; the run, whose machine and flags
//	            count, also checks the job
//	Update      taskrun update: like Plan, with the warnings of Up
//	Cluster     up and plan with --address: the cluster checks the rest
//	Register    the API's register, with APIPlan and APIValidate
//	Dispatch    the API's dispatch, for the jobs that it creates
//	Outline     taskrun stubs: whether values of variables fit
//
// So Validate refuses everything that Up refuses, except for rows that depend on
// this machine: its drivers, its attributes, and what is running on it now.
//
// Prepare comes first. It converts the jobs to the form that would run: with
// defaults, the changes of task blocks in the stubs, and replaced drivers. If a
// file has errors, its readable part is checked, without consequences of the
// errors.
//
// The rules of Nomad about a job are in jobspec/validate, and those about a job on
// a node in jobspec/placement; both are rows here.
package preflight

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Prepare converts the jobs to the form that would run. Call it once, before
// Check.
func (c *Case) Prepare() {
	c.began = time.Now()
	c.node = sync.OnceValue(c.describeNode)
	c.configs = catalog.NewChecker(c.Drivers)
	c.replaced, c.changes = map[*api.Task]replaced{}, stub.Changes{Groups: map[int]bool{}, Tasks: map[int]bool{}}
	for _, f := range withJobs(c.Files) {
		if c.Entry == Dispatch {
			continue // a running job was prepared before
		}
		changes := c.Stubs.Apply(f.Job, f.Positions)
		maps.Copy(c.changes.Groups, changes.Groups)
		maps.Copy(c.changes.Tasks, changes.Tasks)
		c.changes.Diagnostics = append(c.changes.Diagnostics, changes.Diagnostics...)
		f.Job.Canonicalize()
		jobspec.Register(f.Job)
		if c.Entry != Cluster { // whose servers do that
			addGateways(f.Job)
			addExposed(f.Job)
		}
		forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { c.replace(f.Job, t) })
	}
}

// describeNode is Node for a case. Entry points that only look at files query
// no drivers.
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

// checks returns the table of all checks, in order. Diagnostics without a place
// are shown after the others, in the order of the rows.
func checks() []check {
	return []check{
		// The job alone.
		{"rules of Nomad", jobs | Cluster | Outline, perJob(rules)},
		{"number of allocations", jobs | Cluster, perJob(size)},
		{"another job of the same ID", files | Cluster, twins},
		{"task blocks of the stubs", files, withStubs(stubTargets)},
		{"group blocks of the stubs", files, withStubs(groupTargets)},
		{"stubs to fill in", jobs, withStubs(unfilled)},

		// Drivers.
		{"driver and its config", jobs | Outline, perTask(driverAndConfig)},
		{"health of the driver", runs | Dispatch, withStubs(perJob(driverHealth))},
		{"options without effect", notices, perJob(unheededInConfig)},
		{"blocks without effect", notices &^ Rehearse, perJob(gaps)},
		{"network of a group", notices &^ Rehearse, perJob(networks)},
		{"folders in place of volumes", notices &^ Rehearse, withStubs(volumes)},
		{"paths of this machine", notices, perJob(hostPaths)},
		{"isolation", notices, isolation},
		{"tasks of other users", notices, perTask(otherUsers)},
		{"options of the config file", notices &^ ofAPI, unheeded},
		{"downloads", jobs, perTask(artifacts)},

		// Things that a cluster would provide.
		{"syntax of templates", jobs | Outline, perTask(templates)},
		{"constraints", runs | Update, withStubs(perJob(constraints))},
		{"unknown constraints", Rehearse, withStubs(perJob(unknownConstraints))},
		{"static ports", jobs &^ Rehearse, staticPorts},
		{"service mesh", jobs, connects},
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
