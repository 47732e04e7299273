package jobs

import (
	"net/http"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
	"taskrun/jobspec"
)

// Parse answers PUT /v1/jobs/parse with the job in a text. The text cannot read
// files of this machine. Values for variables that it does not declare are
// ignored, as by Nomad.
func (h *Handler) Parse(r *rest.Request, order *api.JobsParseRequest) (any, error) {
	if order.JobHCL == "" {
		return nil, rest.Fail(http.StatusBadRequest, "Job spec is empty")
	}
	if len(order.JobHCL) > maxSource {
		return nil, rest.Fail(http.StatusBadRequest, "Failed to parse job: it is larger than %d MiB", maxSource>>20)
	}
	opts := jobspec.Options{NoFiles: true, IgnoreUndeclared: true}
	if order.Variables != "" {
		opts.VarTexts = []jobspec.Source{{Name: "input.hclvars", Text: []byte(order.Variables)}}
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "input.hcl", Text: []byte(order.JobHCL)}, opts)
	if diagnostics.HasErrors() {
		return nil, rest.Fail(http.StatusBadRequest, "Failed to parse job: %v", diagnostics.Errors())
	}
	if err := checkSize(file.Job); err != nil {
		return nil, err
	}
	if order.Canonicalize {
		file.Job.Canonicalize()
	}
	return file.Job, nil
}
