// Package jobfile reads job files, and the stubs beside them.
package jobfile

import (
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// File is a job file after reading.
type File struct {
	*jobspec.File
	Name   string
	Stubs  *stub.Set          // shared by all files of a call
	Broken bool               // the stubs file has errors
	Source *api.JobSubmission // nil: unknown
}

// Options are the options of Read.
type Options struct {
	Vars, VarFiles []string
	SecretVars     bool   // Vars are not from the command line; see jobspec.Options
	Stubbed        bool   // read stubs
	Stubs          string // stubs file; empty: taskrun.hcl beside the job files
	Outline        bool   // variables may lack a value
	Placeholders   bool   // of the stubs have values: no task is started
	// Fit returns the number of errors of a file. If it is set, variables without a
	// value get samples with which there are few; see jobspec.Fit.
	Fit func(File) int
	// Values are of variables, and win over those of the stubs and of the
	// environment.
	Values map[string]jobspec.VariableValue
}

// CallError is an error in the call, with a remedy.
type CallError struct{ Text, Hint string }

func (e *CallError) Error() string { return e.Text }

// Jobs returns the jobs in files.
func Jobs(files []File) []*api.Job {
	var all []*api.Job
	for _, f := range files {
		if f.Job != nil {
			all = append(all, f.Job)
		}
	}
	return all
}
