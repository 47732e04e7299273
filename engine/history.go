package engine

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// history is what is kept and told of a job besides its allocations: its versions,
// with their sources, deployments and evaluations, and its scaling events.
type history struct {
	host     *host
	key      string // of the job
	parent   string // key of the job on whose behalf it runs, or empty
	recorder *store.Recorder
	purged   atomic.Bool // forget the job once it has ended; set with the job's mu held
	newest   atomic.Pointer[api.Job]

	// Guarded by the job's mu.
	versions    versions
	deployments deployments // of these versions
	scalings    map[string][]api.ScalingEvent
	priority    int                           // of the evaluation with which the job begins; 0: that of the job
	introduced  Registered                    // the effect of the first version, without its plan
	submissions map[uint64]*api.JobSubmission // by version, unless they are stored
}

// numbered returns the key of a record of one version of the job.
func (h *history) numbered(kind string, version uint64) store.Key {
	return store.KeyOf(kind, h.key, strconv.FormatUint(version, 10))
}

// version returns a version of the job, or the newest if that version is not
// kept. The caller must hold the lock.
func (h *history) version(n uint64) *api.Job {
	if i := h.versions.index(n); i >= 0 {
		return h.versions[i]
	}
	return h.newest.Load()
}

// deployment returns the deployment of the newest version, or nil. The caller
// must hold the lock.
func (h *history) deployment() *deploymentRecord { return h.deployments.of(*h.newest.Load().Version) }

// created returns the index at which the job was registered for the first time.
// The caller must hold the lock.
func (h *history) created() (index uint64) {
	job := h.newest.Load()
	if job.CreateIndex != nil {
		return *job.CreateIndex
	}
	h.host.state.Look(func(run *fold.Run) {
		if v := run.Version(h.key, *job.Version); v != nil {
			index = v.Created
		}
	})
	return index
}

// number makes a job the version after the newest one. The caller must hold the
// lock.
func (h *history) number(job *api.Job) {
	before := h.newest.Load()
	job.Version, job.Stable = new(*before.Version+1), new(false)
	job.SubmitTime, job.VersionTag = new(time.Now().UnixNano()), nil
	job.CreateIndex = new(h.created())
	job.ParentID, job.Payload, job.Dispatched = before.ParentID, before.Payload, before.Dispatched
}

// add makes a numbered version the newest one. The caller must hold the lock.
func (h *history) add(job *api.Job, source *api.JobSubmission, c *store.Change) {
	before := h.newest.Load()
	h.versions = append(h.versions, job)
	h.newest.Store(job)
	if h.recorder.Durable() {
		c.Put(h.numbered(versionKey, *before.Version), before)
		c.Put(store.KeyOf(jobKey, h.key), job)
	}
	h.keepSubmission(*job.Version, source, c)
}

// amend replaces the version at index i with a changed copy. The caller must
// hold the lock.
func (h *history) amend(i int, c *store.Change, change func(*api.Job)) {
	job := *h.versions[i]
	change(&job)
	h.versions[i] = &job
	key := h.numbered(versionKey, *job.Version)
	if *job.Version == *h.newest.Load().Version {
		h.newest.Store(&job)
		key = store.KeyOf(jobKey, h.key)
	}
	if h.recorder.Durable() {
		c.Put(key, &job)
	}
	h.tellVersion(&job, c)
}

func (h *history) tag(i int, tag *api.JobVersionTag) {
	var c store.Change
	h.amend(i, &c, func(job *api.Job) { job.VersionTag = tag })
	h.recorder.Commit(c)
}

// forgetVersions drops the versions that are neither kept nor needed by
// allocations, with their deployments. The caller must hold the lock.
func (h *history) forgetVersions(needed map[uint64]bool, c *store.Change) {
	for _, job := range h.versions.kept() {
		needed[*job.Version] = true
	}
	var gone []uint64
	h.versions = slices.DeleteFunc(h.versions, func(job *api.Job) bool {
		n := *job.Version
		if needed[n] {
			return false
		}
		c.Drop(h.numbered(versionKey, n))
		c.Drop(h.numbered(deploymentKey, n))
		h.dropSubmission(n, c)
		deployment := ""
		if d := h.deployments.of(n); d != nil {
			deployment = d.ID
		}
		c.ForgetVersion(h.key, n, deployment)
		gone = append(gone, n)
		h.deployments = slices.DeleteFunc(h.deployments, func(d *deploymentRecord) bool { return d.Version == n })
		return true
	})
	if len(gone) > 0 {
		h.host.bus.Publish(nil, "", event.Forgotten{Job: h.key, Versions: gone})
	}
}

// deploy adds a deployment that begins now. The lock is held.
func (h *history) deploy(d *health.Deployment) {
	id := h.host.cfg.Chance.ID("deployment", h.key)
	h.deployments = append(h.deployments, &deploymentRecord{ID: id, Began: time.Now(), Deployment: d})
}

// keptScalings is how many scaling events of a group are kept, as in Nomad.
const keptScalings = 20

// note keeps a scaling event, newest first, and publishes it. The caller must
// hold the lock.
func (h *history) note(group string, e api.ScalingEvent) {
	events := append([]api.ScalingEvent{e}, h.scalings[group]...)
	h.scalings[group] = events[:min(len(events), keptScalings)]
	if h.recorder.Durable() {
		var c store.Change
		c.Put(store.KeyOf(scalingKey, h.key), h.scalings)
		h.recorder.Commit(c)
	}
	h.host.bus.Publish(nil, "", event.Scaled{Job: h.key})
}
