package engine

import (
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// Keys of the records that are stored of a run, besides its allocations:
//
//	run                              runRecord
//	order                            how the run should end: orderStop or orderKill
//	stopped     <job ID>             whether only that job should stop
//	job         <job ID>             each job of the run, an api.Job
//	version     <job ID> <n>         each earlier version that is kept, an api.Job
//	slot        <job ID> <group> <i> slotRecord; followed by a number if several have that index
//	deployment  <job ID> <n>         deploymentRecord of that version
//	scaling     <job ID>             scaling events, by group
//	periodic    <job ID>             the time up to which launches were made
const (
	runKey        = "run"
	orderKey      = "order"
	stoppedKey    = "stopped"
	jobKey        = "job"
	versionKey    = "version"
	slotKey       = "slot"
	deploymentKey = "deployment"
	scalingKey    = "scaling"
	periodicKey   = "periodic"
)

// Values of the record order.
const (
	orderStop = "stop"
	orderKill = "kill"
)

// numbered returns the key of a record of one version of a job.
func numbered(kind string, job *api.Job, version uint64) store.Key {
	return store.KeyOf(kind, *job.ID, strconv.FormatUint(version, 10))
}

func (s *slot) key() store.Key {
	parts := []string{slotKey, *s.job.ID, s.group, strconv.Itoa(s.index)}
	if s.lane > 0 {
		parts = append(parts, strconv.Itoa(s.lane))
	}
	return store.KeyOf(parts...)
}
