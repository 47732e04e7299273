package jobs

import (
	"maps"
	"net/http"
	"strconv"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/rest"
)

// keptSubmissions is for how many versions of a job it is known what it was
// made of, as in Nomad.
const keptSubmissions = 6

// submissions are the sources of jobs, by job and version.
type submissions struct {
	mu   sync.Mutex
	jobs map[string]map[uint64]*api.JobSubmission
}

// keep remembers what a version of a job was made of, if that is known and not
// too large.
func (k *submissions) keep(job string, version uint64, source *api.JobSubmission) {
	if source == nil || len(source.Source) > maxSource {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	versions := k.jobs[job]
	if versions == nil {
		versions = map[uint64]*api.JobSubmission{}
		if k.jobs == nil {
			k.jobs = map[string]map[uint64]*api.JobSubmission{}
		}
		k.jobs[job] = versions
	}
	versions[version] = source
	maps.DeleteFunc(versions, func(v uint64, _ *api.JobSubmission) bool { return v+keptSubmissions <= version })
}

// of returns what a version of a job was made of; nil if that is not known.
func (k *submissions) of(job string, version uint64) *api.JobSubmission {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.jobs[job][version]
}

// Submission answers GET /v1/job/:id/submission.
func (h *Handler) Submission(r *rest.Request) (any, error) {
	version, err := strconv.ParseUint(r.Query.Get("version"), 10, 64)
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "Unable to parse job submission version parameter: %v", err)
	}
	if _, _, err := h.run.FindJob(r); err == nil {
		if source := h.submissions.of(r.ID, version); source != nil {
			return source, nil
		}
	}
	return nil, rest.Fail(http.StatusNotFound, "job source not found")
}
