package jobfile

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/syntax"
)

// submission returns the text of a job file and its variables, for clients that
// read them from the run.
func (o *Options) submission(src jobspec.Source, file *jobspec.File) *api.JobSubmission {
	s := &api.JobSubmission{Source: string(src.Text), Format: "hcl2", VariableFlags: map[string]string{}}
	if syntax.IsJSON(src.Text) {
		s.Format = "json"
	}
	for _, v := range o.Vars {
		if name, value, ok := strings.Cut(v, "="); ok {
			s.VariableFlags[name] = value
		}
	}
	for _, name := range o.VarFiles {
		s.Variables += string(file.Sources[name])
	}
	return s
}

// Redacted returns the jobs of files as JSON without secrets, by job ID.
func Redacted(files []File) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		text, err := f.Redacted()
		if err != nil {
			return nil, err
		}
		all[*f.Job.ID] = text
	}
	return all, nil
}

// Given returns the values of files that come from outside of them, such as those of
// --var. They may be secrets.
func Given(files []File) (values []string) {
	for _, f := range files {
		values = append(values, f.Given()...)
	}
	return values
}

// Sources returns the submissions of files, by job ID.
func Sources(files []File) map[string]*api.JobSubmission {
	all := map[string]*api.JobSubmission{}
	for _, f := range files {
		if f.Job != nil && f.Source != nil {
			all[*f.Job.ID] = f.Source
		}
	}
	return all
}
