package preflight

import (
	"fmt"

	"taskrun/jobspec"
	"taskrun/jobspec/placement"
	"taskrun/jobspec/validate"
)

// Sets of entry points.
const (
	ofAPI   = Register | APIPlan | APIValidate
	runs    = Up | Rehearse | Register | APIPlan // on this machine, now
	files   = Validate | Strict | Up | Rehearse | Plan | Update
	jobs    = files | ofAPI
	notices = Strict | Up | Rehearse | Update | ofAPI // what is otherwise than in Nomad
)

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
		{"driver and its config", jobs, perTask(driver)},
		{"health of the driver", runs | Dispatch, withStubs(perJob(health))},
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

// withStubs makes a check one that knows nothing without the stubs.
func withStubs(find func(*Case) jobspec.Diagnostics) func(*Case) jobspec.Diagnostics {
	return func(c *Case) jobspec.Diagnostics {
		if c.StubsBroken {
			return nil
		}
		return find(c)
	}
}

func rules(_ *Case, f File) jobspec.Diagnostics { return validate.Job(f.Job, f.Positions) }

func size(c *Case, f File) jobspec.Diagnostics {
	if c.MaxAllocs == 0 {
		return nil
	}
	return validate.Allocations(f.Job, c.MaxAllocs)
}

// twins finds jobs that are in several files.
func twins(c *Case) jobspec.Diagnostics {
	first := make(map[string]string) // file by job ID
	return perJob(func(_ *Case, f File) (diagnostics jobspec.Diagnostics) {
		if other, ok := first[*f.Job.ID]; ok {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("job %q is in another file as well", *f.Job.ID),
				Detail:  fmt.Sprintf("the other one is %s", other),
				Remedy:  "give one of them another id",
				Path:    jobspec.Root,
			})
		}
		first[*f.Job.ID] = f.Name
		return diagnostics
	})(c)
}

func constraints(c *Case, f File) jobspec.Diagnostics { return placement.Check(f.Job, c.node()) }

// unknownConstraints are an error in a rehearsal, which is to tell whether a
// node of a cluster would do.
func unknownConstraints(c *Case, f File) jobspec.Diagnostics {
	return placement.Unknown(f.Job, c.node())
}

// staticPorts refuses static ports that take several machines. In a rehearsal,
// where no port is opened, it warns.
func staticPorts(c *Case) jobspec.Diagnostics {
	var taken placement.StaticPorts
	diagnostics := perJob(func(_ *Case, f File) jobspec.Diagnostics { return taken.Check(f.Job) })(c)
	if c.Entry == Rehearse {
		diagnostics = withSeverity(diagnostics, jobspec.Warning)
	}
	return diagnostics
}

func withSeverity(diagnostics jobspec.Diagnostics, s jobspec.Severity) jobspec.Diagnostics {
	for i := range diagnostics {
		diagnostics[i].Severity = s
	}
	return diagnostics
}
