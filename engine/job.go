package engine

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

func newJobRun(e *Engine, job *api.Job, dir *allocdir.Run, memory *port.Memory, recorder *store.Recorder) *jobRun {
	r := &jobRun{
		engine: e, job: job, dir: dir, recorder: recorder, hostEnv: e.cfg.HostEnv,
		woken: make(chan struct{}, 1), ready: make(chan struct{}), scalings: map[string][]api.ScalingEvent{},
	}
	r.ports = jobPorts{job: *job.ID, claims: e.ports, shared: e.cfg.LogicalPorts, memory: memory, notice: e.notice, drivers: e.cfg.Drivers}
	r.children = children{parent: r, known: map[string]*jobRun{}}
	r.newest.Store(job)
	r.versions = versions{job}
	var stop, settle context.CancelFunc
	r.stopping, stop = context.WithCancel(e.stopping)
	r.settled, settle = context.WithCancel(e.settled)
	r.cancel = []context.CancelFunc{stop, settle}
	return r
}

// lock locks the job as soon as what an earlier engine has left is known.
func (r *jobRun) lock() {
	<-r.ready
	r.mu.Lock()
}

// isEnding reports whether nothing new begins.
func (r *jobRun) isEnding() bool { return r.settled.Err() != nil || r.engine.leaving.Err() != nil }

// stop has the job end.
func (r *jobRun) stop() {
	for _, cancel := range r.cancel {
		cancel()
	}
}

// look has the job looked at.
func (r *jobRun) look() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// launches reports whether a job is only launched, as other jobs: it is
// periodic or parameterized.
func launches(job *api.Job) bool { return job.IsPeriodic() || job.IsParameterized() }

// parentOf returns the ID of the job in whose name a job runs; empty for none.
func parentOf(job *api.Job) string {
	if job.ParentID == nil {
		return ""
	}
	return *job.ParentID
}

// version returns a version of the job; of one that is not kept the newest. The
// lock is held.
func (r *jobRun) version(n uint64) *api.Job {
	if i := r.versions.index(n); i >= 0 {
		return r.versions[i]
	}
	return r.newest.Load()
}

// deployment is that of the newest version; nil when it has none. The lock is
// held.
func (r *jobRun) deployment() *deploymentRecord { return r.deployments.of(*r.newest.Load().Version) }
