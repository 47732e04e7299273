package jobs

import (
	"net/http"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// maxSource limits a job file, in bytes, as in Nomad.
const maxSource = 1 << 20

// Submission answers GET /v1/job/:id/submission.
func (h *Handler) Submission(r *rest.Request) (any, error) {
	version, err := strconv.ParseUint(r.Query.Get("version"), 10, 64)
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "Unable to parse job submission version parameter: %v", err)
	}
	if _, job, err := h.run.FindJob(r); err == nil {
		key := h.run.Key(r)
		if source := h.submission(key, version); source != nil {
			index, _ := h.run.Tracker.Version(key, version)
			return newSubmission(job, version, index, source), nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "job source not found")
}

// submission is an api.JobSubmission in its wire format.
type submission struct {
	Source, Format          string
	VariableFlags           map[string]string
	Variables               string
	Namespace, JobID        string
	Version, JobModifyIndex uint64
}

func newSubmission(job *api.Job, version, index uint64, source *api.JobSubmission) *submission {
	s := &submission{
		Source: source.Source, Format: source.Format, VariableFlags: source.VariableFlags, Variables: source.Variables,
		Namespace: *job.Namespace, JobID: *job.ID, Version: version, JobModifyIndex: index,
	}
	if len(s.VariableFlags) == 0 {
		s.VariableFlags = nil
	}
	return s
}

// submission returns the source of a job's version, or nil.
func (h *Handler) submission(key string, version uint64) *api.JobSubmission {
	if source := h.run.Engine.Handle(key).Submission(version); source != nil || version > 0 {
		return source
	}
	return h.sources[key]
}

// kept returns a source if it is not too large to be kept, and otherwise a
// warning.
func kept(source *api.JobSubmission) (_ *api.JobSubmission, warning string) {
	if source == nil {
		return nil, ""
	}
	if size := len(source.Source) + len(source.Variables); size > maxSource {
		return nil, "the source of the job is not kept: it is larger than 1 MiB"
	}
	return source, ""
}
