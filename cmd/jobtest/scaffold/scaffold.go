// Package scaffold writes the first test file of a job. Its runs assert the present
// behavior of the job, so that they pass. It is pure.
package scaffold

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/jobspec"
)

// Text returns a test file in the canonical style. It has a run in which all goes
// well, and one for each thing that can go wrong: a restart policy, a task before
// others, a check. The last one stops the job.
func (j Job) Text() []byte {
	w := &writer{Job: j, batch: *j.Type == api.JobTypeBatch || *j.Type == api.JobTypeSysbatch}
	w.line(`# What %s does today. Keep the runs that matter, and say what else must hold:`, j.File)
	w.line(`# taskrun help test`)
	w.line(`job = %s`, quote(j.File))
	w.line("")
	w.well()
	if !j.IsPeriodic() && !j.IsParameterized() { // the jobs that they launch behave alike
		for _, g := range j.TaskGroups {
			if fold.Instances(j.Job, g) == 0 {
				continue
			}
			w.prestarts(g)
			w.policies(g)
			w.checks(g)
		}
		w.stop()
	}
	formatted, diagnostics := jobspec.Format(jobspec.Source{Name: "test", Text: []byte(w.String())})
	if len(diagnostics) > 0 {
		panic(diagnostics) // all names are quoted
	}
	return formatted
}
