package render

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/httpapi/rest"
	"taskrun/engine/httpapi/tracker"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec/taskenv"
)

// Run is the run to describe.
type Run struct {
	Engine   *engine.Engine
	Tracker  *tracker.Tracker
	Machine  *taskenv.Node     // read only
	Keys     *workload.Keyring // of workload identities
	Began    time.Time
	Resident bool // the engine takes any job, and keeps namespaces apart
	// HostVolumes are the static host volumes of the node, by name; read only.
	HostVolumes map[string]*api.HostVolumeInfo
}

// Key returns the key of the job that the path and the namespace of a request
// name.
func (run *Run) Key(r *rest.Request) string { return run.KeyIn(r.Namespace(), r.ID) }

// KeyOf returns the key of a job.
func (run *Run) KeyOf(j *api.Job) string { return run.KeyIn(*j.Namespace, *j.ID) }

// KeyIn returns the key of the job with an ID in a namespace.
func (run *Run) KeyIn(namespace, id string) string {
	if !run.Resident {
		return id
	}
	return event.JobKey(namespace, id)
}

// created returns the index of the first registration of a job.
func (run *Run) created(key string, j *api.Job) uint64 {
	if j.CreateIndex != nil && *j.CreateIndex > 0 {
		return *j.CreateIndex
	}
	index, _ := run.Tracker.Version(key, *j.Version)
	return index
}

// Pools returns the node pools, sorted by name.
func (run *Run) Pools() []*api.NodePool { return run.Engine.Registry().Pools.All() }

// Namespaces returns the namespaces. Without a resident engine they include
// those of the jobs, which no request has created.
func (run *Run) Namespaces() []*api.Namespace {
	kept := run.Engine.Registry().Namespaces
	list := kept.All()
	if run.Resident {
		return list
	}
	seen := map[string]bool{}
	for _, j := range run.Engine.Jobs() {
		if !seen[*j.Namespace] && kept.Get(*j.Namespace) == nil {
			seen[*j.Namespace] = true
			list = append(list, &api.Namespace{Name: *j.Namespace, CreateIndex: fold.FirstIndex, ModifyIndex: fold.FirstIndex})
		}
	}
	return list
}
