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

// history holds and publishes the versions of a job with their sources, its
// deployments, evaluations, and scaling events.
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
	job.Version = new(*before.Version + 1)
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

// startsAfresh reports whether the next allocation, of a version of the job, has
// nothing to do with the last one: the job was stopped in between or, in a batch
// job, the last one had ended when the job changed. The caller must hold the lock.
func (h *history) startsAfresh(last *placement, next uint64) bool {
	return h.wasStopped(last.Version) ||
		*h.newest.Load().Type == api.JobTypeBatch && last.Version != next && last.Unwanted != updated
}

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

// stable returns the index of the latest stable version that runs anything, or a
// negative number.
func (v versions) stable() int {
	for i, job := range slices.Backward(v) {
		if job.Stable != nil && *job.Stable && !isStopped(job) {
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

// Deployment is a snapshot of a deployment.
type Deployment struct {
	ID          string
	Job         string // ID
	Version     uint64 // of the job
	Began       time.Time
	Status      string
	Description string
	Groups      map[string]DeploymentGroup
}

// DeploymentGroup is a snapshot of a group that takes part in a deployment.
type DeploymentGroup struct {
	health.DeploymentGroup
	PlacedCanaries []string // IDs
}

// deploymentRecord is the stored form of a deployment.
type deploymentRecord struct {
	ID    string    `json:"id"`
	Began time.Time `json:"began"`
	*health.Deployment

	unsaved             bool
	status, description string // that were told
}

// deployments are those of the versions of a job, the newest last.
type deployments []*deploymentRecord

// of returns the deployment of a version; nil if it has none.
func (l deployments) of(version uint64) *deploymentRecord {
	for _, d := range slices.Backward(l) {
		if d.Version == version {
			return d
		}
	}
	return nil
}
