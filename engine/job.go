package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/port"
	"taskrun/engine/store"
)

func newJobRun(e *Engine, job *api.Job, dir *allocdir.Run, memory *port.Memory, recorder *store.Recorder) *jobRun {
	r := &jobRun{
		engine: e, job: job, dir: dir, memory: memory, recorder: recorder, hostEnv: e.cfg.HostEnv,
		woken: make(chan struct{}, 1), ready: make(chan struct{}), known: map[string]*jobRun{}, scalings: map[string][]api.ScalingEvent{},
	}
	r.newest.Store(job)
	r.versions = []*api.Job{job}
	var stop, settle context.CancelFunc
	r.stopping, stop = context.WithCancel(e.stopping)
	r.settled, settle = context.WithCancel(e.settled)
	r.cancel = []context.CancelFunc{stop, settle}
	return r
}

// lock is for who orders something of the job, or asks: it waits until there is
// an answer.
func (r *jobRun) lock() {
	<-r.ready
	r.mu.Lock()
}

// isEnding reports whether nothing new begins. Who leaves tasks says so before
// they are left.
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

func (r *jobRun) notice(format string, args ...any) {
	r.engine.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf(format, args...)})
}

func (r *jobRun) allocName(group string, index int) string {
	return fmt.Sprintf("%s.%s[%d]", *r.job.ID, group, index)
}

// parent is the ID of the job in whose name the job runs; empty for none.
func (r *jobRun) parent() string {
	if r.job.ParentID == nil {
		return ""
	}
	return *r.job.ParentID
}

// version returns a version of the job; of one that is not kept the newest. The
// lock is held.
func (r *jobRun) version(n uint64) *api.Job {
	for _, job := range r.versions {
		if *job.Version == n {
			return job
		}
	}
	return r.newest.Load()
}

// deployment is that of the newest version; nil when it has none. The lock is
// held.
func (r *jobRun) deployment() *deploymentRecord { return r.deploymentOf(*r.newest.Load().Version) }

func (r *jobRun) deploymentOf(version uint64) *deploymentRecord {
	for _, d := range slices.Backward(r.deployments) {
		if d.Version == version {
			return d
		}
	}
	return nil
}
