package engine

import (
	"strconv"

	"taskrun/engine/store"
)

// Keys of the records that are stored of a run, besides its allocations. Jobs
// are named by their keys; see event.JobKey.
//
//	run                           runRecord
//	order                         how the run should end: orderStop or orderKill
//	stopped     <job>             whether only that job should stop
//	purged                        whether the job is forgotten once it has ended
//	job         <job>             each job of the run, an api.Job
//	version     <job> <n>         each earlier version that is kept, an api.Job
//	submission  <job> <n>         the source of a version, an api.JobSubmission
//	announced   <job>             a version, with its source, whose registration has begun
//	slot        <job> <group> <i> slotRecord; followed by a number if several have that index
//	deployment  <job> <n>         deploymentRecord of that version
//	scaling     <job>             scaling events, by group
//	periodic    <job>             the time up to which launches were made
const (
	runKey        = "run"
	orderKey      = "order"
	stoppedKey    = "stopped"
	purgedKey     = "purged"
	submissionKey = "submission"
	announcedKey  = "announced"
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

// numbered returns the key of a record of one version of the job.
func (r *jobRun) numbered(kind string, version uint64) store.Key {
	return store.KeyOf(kind, r.key, strconv.FormatUint(version, 10))
}

func (s *slot) record() store.Key {
	parts := []string{slotKey, s.key, s.group, strconv.Itoa(s.index)}
	if s.lane > 0 {
		parts = append(parts, strconv.Itoa(s.lane))
	}
	return store.KeyOf(parts...)
}
