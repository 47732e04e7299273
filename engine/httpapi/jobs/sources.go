package jobs

import (
	"maps"
	"sync"

	"github.com/hashicorp/nomad/api"
)

// maxSource limits a job file, in bytes, as in Nomad.
const maxSource = 1 << 20

// keptSubmissions is how many versions of a job keep their source, as in Nomad.
const keptSubmissions = 6

// submissions holds the sources of jobs, by job and version.
type submissions struct {
	mu   sync.Mutex
	jobs map[string]map[uint64]*api.JobSubmission
}

// keep stores the source of a job's version, unless it is unknown or too large.
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

// of returns the source of a job's version, or nil.
func (k *submissions) of(job string, version uint64) *api.JobSubmission {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.jobs[job][version]
}
