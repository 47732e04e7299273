package cmd

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/syntax"
)

// submission is what a job file was, for those who ask the run for it.
func (o *jobOptions) submission(src jobspec.Source, file *jobspec.File) *api.JobSubmission {
	s := &api.JobSubmission{Source: string(src.Text), Format: "hcl2", VariableFlags: map[string]string{}}
	if syntax.IsJSON(src.Text) {
		s.Format = "json"
	}
	for _, v := range o.vars {
		if name, value, ok := strings.Cut(v, "="); ok {
			s.VariableFlags[name] = value
		}
	}
	for _, name := range o.varFiles {
		s.Variables += string(file.Sources[name])
	}
	return s
}

// sources are what the jobs of files were made of, by ID.
func sources(files []jobFile) map[string]*api.JobSubmission {
	all := map[string]*api.JobSubmission{}
	for _, f := range files {
		if f.Job != nil && f.source != nil {
			all[*f.Job.ID] = f.source
		}
	}
	return all
}
