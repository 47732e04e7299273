package preflight

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"taskrun/drivers"
	"taskrun/jobspec"
	"taskrun/jobspec/placement"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// rules applies the rules of Nomad. It omits warnings about values of the stubs
// file, which say nothing about the job file.
func rules(c *Case, f File) jobspec.Diagnostics {
	return slices.DeleteFunc(validate.Job(f.Job, f.Positions), func(d jobspec.Diagnostic) bool {
		at := f.Positions.At(d.Path)
		return d.Severity != jobspec.Error && at.File == c.Stubs.File && !at.IsZero()
	})
}

func size(c *Case, f File) jobspec.Diagnostics {
	if c.MaxAllocs == 0 {
		return nil
	}
	return validate.Allocations(f.Job, c.MaxAllocs)
}

// twins finds jobs that occur in several files.
func twins(c *Case) jobspec.Diagnostics {
	first := make(map[string]string) // first file of each job ID
	return perJob(func(_ *Case, f File) (diagnostics jobspec.Diagnostics) {
		if other, ok := first[*f.Job.ID]; ok {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Summary: fmt.Sprintf("job %q is also in another file", *f.Job.ID),
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

// unknownConstraints returns errors in a rehearsal, whose purpose is to find
// out whether a node of a cluster would fit.
func unknownConstraints(c *Case, f File) jobspec.Diagnostics {
	return placement.Unknown(f.Job, c.node())
}

// staticPorts refuses static ports that need several machines.
func staticPorts(c *Case) jobspec.Diagnostics {
	var taken placement.StaticPorts
	return perJob(func(_ *Case, f File) jobspec.Diagnostics { return taken.Check(f.Job) })(c)
}

// memoryMax warns about each memory_max without effect.
func memoryMax(c *Case, f File) jobspec.Diagnostics {
	diagnostics := placement.IgnoredMemoryMax(f.Job, &taskenv.Node{MemoryOversubscription: c.MemoryMax})
	if c.Entry&ofAPI != 0 {
		for i := range diagnostics {
			diagnostics[i].Summary += ". Update the Scheduler Configuration to allow oversubscription." // Nomad's words
		}
	}
	return diagnostics
}

func memoryLimits(c *Case) jobspec.Diagnostics {
	if !c.EnforceMemory {
		return nil
	}
	return EnforceMemory(c.Files, c.Drivers)
}

// EnforceMemory makes the drivers of the jobs enforce memory limits, and
// returns warnings about those that cannot.
func EnforceMemory(of []File, known map[string]drivers.Driver) (diagnostics jobspec.Diagnostics) {
	for _, name := range slices.Sorted(maps.Keys(driversOf(of))) {
		err := errors.New("the driver cannot do that")
		if d, ok := known[name].(drivers.MemoryEnforcer); ok {
			err = d.EnforceMemory()
		}
		if err != nil {
			diagnostics = append(diagnostics, jobspec.Diagnostic{
				Severity: jobspec.Warning,
				Summary:  fmt.Sprintf("memory limits of %s tasks are not enforced", name),
				Detail:   err.Error(),
			})
		}
	}
	return diagnostics
}
