package report

import (
	"strconv"

	"taskrun/jobspec"
)

// Suites returns the run as JUnit suites, one for each job, with a case for each
// task of an allocation. A run that did not succeed although no task failed has
// one more case in each job, which says why.
func (r *Run) Suites() []Suite {
	suites := make([]Suite, len(r.Jobs))
	whole := r.Result.ExitCode != 0 && !r.failed()
	for i, j := range r.Jobs {
		s := &suites[i]
		*s = Suite{Name: j.ID, Began: r.Began, Host: r.Host, Properties: []Property{
			{"taskrun.version", r.Version}, {"exit_code", strconv.Itoa(r.Result.ExitCode)}, {"status", j.Status}, {"reason", j.Reason},
		}}
		last := ""
		for _, t := range j.Tasks {
			if t.AllocID != last {
				s.Properties = append(s.Properties, Property{"alloc_id." + t.Alloc, t.AllocID})
				last = t.AllocID
			}
			s.Cases = append(s.Cases, t.junit())
		}
		if whole {
			s.Cases = append(s.Cases, j.junit())
		}
	}
	return suites
}

func (t Task) junit() Case {
	c := Case{Class: t.Alloc, Name: t.Name, Took: t.Took, Skipped: t.Skipped}
	if f := t.Failure; f != nil {
		c.Failures = []Failed{{f.Event, f.Message, f.Title() + "\n" + f.details()}}
	}
	return c
}

// junit returns a case for the whole run of the job.
func (j Job) junit() Case {
	f := Failed{Type: "run", Message: j.Reason, Body: j.Reason}
	if j.First != nil {
		f = Failed{"check", j.Reason, j.First.Title() + "\n" + j.First.details()}
	}
	return Case{Class: j.ID, Name: "run", Failures: []Failed{f}}
}

// Refused returns a JUnit suite about job files with errors, of which nothing was
// started.
func Refused(f Facts, text func(jobspec.Diagnostic) string) []Suite {
	c := Case{Class: f.Command, Name: "job files are valid"}
	for _, d := range f.Diagnostics.Errors() {
		c.Failures = append(c.Failures, Failed{"diagnostic", d.Summary, text(d)})
	}
	return []Suite{{
		Name: f.Command, Began: f.Began, Host: f.Host, Cases: []Case{c},
		Properties: []Property{{"taskrun.version", f.Version}, {"exit_code", strconv.Itoa(f.Result.ExitCode)}},
	}}
}
