package render

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/httpapi/tracker"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec/taskenv"
)

// Run is the run to describe.
type Run struct {
	Engine  *engine.Engine
	Tracker *tracker.Tracker
	Machine *taskenv.Node     // read only
	Keys    *workload.Keyring // of workload identities
	Began   time.Time
}

// Snapshot is the state of the engine at one moment.
type Snapshot struct {
	Over   bool
	Jobs   []*api.Job // copies with their state, sorted by ID
	Allocs map[string][]engine.Alloc

	run *Run
}
