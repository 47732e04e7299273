package engine

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/health"
	"taskrun/engine/store"
	"taskrun/engine/update"
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

// deploy adds a deployment that begins now. The lock is held.
func (h *history) deploy(d *health.Deployment) {
	id := h.host.cfg.Chance.ID("deployment", h.key)
	h.deployments = append(h.deployments, &deploymentRecord{ID: id, Began: time.Now(), Deployment: d})
}

// Registered is the effect of an order about a job.
type Registered struct {
	Version    uint64
	Evaluation string       // ID
	Index      uint64       // of the evaluation or, if there is none, of the version
	Modified   uint64       // index of the version
	Plan       *update.Plan // nil if the job was stopped
}

// wasStopped reports whether the job was stopped since a version. The caller must
// hold the lock.
func (h *history) wasStopped(since uint64) bool {
	return slices.ContainsFunc(h.versions, func(job *api.Job) bool { return isStopped(job) && *job.Version > since })
}
