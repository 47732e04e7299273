package engine

import (
	"context"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

func newJobRun(e *Engine, job *api.Job, dir *allocdir.Run, memory *port.Memory, recorder *store.Recorder) *jobRun {
	r := &jobRun{
		engine: e, key: e.keyOf(job), job: job, dir: dir, recorder: recorder, hostEnv: e.cfg.HostEnv,
		woken: make(chan struct{}, 1), ready: make(chan struct{}), scalings: map[string][]api.ScalingEvent{},
		submissions: map[uint64]*api.JobSubmission{},
	}
	r.placing.Add(1) // until the first turn is over
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

// lock locks the job once the state left by an earlier engine is known.
func (r *jobRun) lock() {
	<-r.ready
	r.mu.Lock()
}

// isEnding reports whether the job starts nothing new.
func (r *jobRun) isEnding() bool { return r.settled.Err() != nil || r.engine.leaving.Err() != nil }

// stop stops the job.
func (r *jobRun) stop() {
	for _, cancel := range r.cancel {
		cancel()
	}
}

// look makes the job check its slots.
func (r *jobRun) look() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// launches reports whether a job is periodic or parameterized: it runs only
// through the jobs that it launches.
func launches(job *api.Job) bool { return job.IsPeriodic() || job.IsParameterized() }

// keyOf returns the key of a job. Only a resident engine obeys namespaces.
func (e *Engine) keyOf(job *api.Job) string { return e.keyIn(job, *job.ID) }

// keyIn returns the key of the job with an ID in the namespace of another one.
func (e *Engine) keyIn(job *api.Job, id string) string {
	if !e.cfg.Resident {
		return id
	}
	return event.JobKey(*job.Namespace, id)
}

// parent returns the key of the job on whose behalf the job runs, or "".
func (r *jobRun) parent() string {
	if r.job.ParentID == nil || *r.job.ParentID == "" {
		return ""
	}
	return r.engine.keyIn(r.job, *r.job.ParentID)
}

// isStopped reports whether a version of a job says that nothing of it runs.
func isStopped(job *api.Job) bool { return job.Stop != nil && *job.Stop }

// version returns a version of the job, or the newest if that version is not
// kept. The caller must hold the lock.
func (r *jobRun) version(n uint64) *api.Job {
	if i := r.versions.index(n); i >= 0 {
		return r.versions[i]
	}
	return r.newest.Load()
}

// deployment returns the deployment of the newest version, or nil. The caller
// must hold the lock.
func (r *jobRun) deployment() *deploymentRecord { return r.deployments.of(*r.newest.Load().Version) }
