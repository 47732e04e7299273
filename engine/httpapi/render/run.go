package render

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/tracker"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec/taskenv"
)

// Run is a run that is described.
type Run struct {
	Engine  *engine.Engine
	Tracker *tracker.Tracker
	Machine *taskenv.Node     // of which nothing may be written any more
	Keys    *workload.Keyring // of workload identities
	Began   time.Time
}

// Snapshot is what the engine runs, at one moment.
type Snapshot struct {
	Over   bool
	Jobs   []*api.Job // copies with their state, by ID
	Allocs map[string][]engine.Alloc

	run *Run
}
