package httpapi

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// parseJob answers PUT /v1/jobs/parse with the job that a text describes. The
// text cannot read files of this machine.
func (s *Server) parseJob(w http.ResponseWriter, r *request) (any, error) {
	var order api.JobsParseRequest
	if err := r.decodeJob(w, &order); err != nil {
		return nil, err
	}
	if order.JobHCL == "" {
		return nil, fail(http.StatusBadRequest, "Job spec is empty")
	}
	if len(order.JobHCL) > maxSource {
		return nil, fail(http.StatusBadRequest, "Failed to parse job: it is larger than %d MiB", maxSource>>20)
	}
	opts := jobspec.Options{NoFiles: true}
	if order.Variables != "" {
		opts.VarTexts = []jobspec.Source{{Name: "input.hclvars", Text: []byte(order.Variables)}}
	}
	file, problems := jobspec.Parse(jobspec.Source{Name: "input.hcl", Text: []byte(order.JobHCL)}, opts)
	if problems.HasErrors() {
		return nil, fail(http.StatusBadRequest, "Failed to parse job: %v", faults(problems))
	}
	if err := checkSize(file.Job); err != nil {
		return nil, err
	}
	if order.Canonicalize {
		file.Job.Canonicalize()
	}
	return file.Job, nil
}

// faults are the problems that keep a job from running.
func faults(problems jobspec.Problems) (faults jobspec.Problems) {
	for _, p := range problems {
		if p.Severity == jobspec.Error {
			faults = append(faults, p)
		}
	}
	return faults
}
