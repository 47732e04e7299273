package engine

import (
	"slices"

	"github.com/hashicorp/nomad/api"
)

// versions are versions of a job, newest last.
type versions []*api.Job

// keptVersions is how many versions of a job are kept, as in Nomad, in addition
// to the latest stable one and to tagged ones.
const keptVersions = 6

// index returns the index of a version, or a negative number.
func (v versions) index(n uint64) int {
	return slices.IndexFunc(v, func(job *api.Job) bool { return *job.Version == n })
}

// tagged returns the index of the version with a tag, or a negative number.
func (v versions) tagged(name string) int {
	return slices.IndexFunc(v, func(job *api.Job) bool { return job.VersionTag != nil && job.VersionTag.Name == name })
}

// stable returns the index of the latest stable version, or a negative number.
func (v versions) stable() int {
	for i, job := range slices.Backward(v) {
		if job.Stable != nil && *job.Stable {
			return i
		}
	}
	return -1
}

// kept returns the versions that Nomad keeps.
func (v versions) kept() (kept versions) {
	stable := v.stable()
	for i, job := range v {
		if i >= len(v)-keptVersions || i == stable || job.VersionTag != nil {
			kept = append(kept, job)
		}
	}
	return kept
}
