package httpapi

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/jobs"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec/taskenv"
)

// Order is what a client wants done with a job.
type Order = jobs.Order

// The orders whose jobs are checked.
const (
	OrderRegister = jobs.OrderRegister
	OrderPlan     = jobs.OrderPlan
	OrderValidate = jobs.OrderValidate
	OrderDispatch = jobs.OrderDispatch
)

// Config is what a server tells of its surroundings.
type Config struct {
	Node      *taskenv.Node // of which nothing may be written any more
	Version   string        // of taskrun
	DataDir   string        // where the runs are
	Preflight jobs.Preflight
	// Keys verify the tokens of workload identities that tasks send.
	Keys *workload.Keyring
	// Sources is what the jobs were made of, by ID, where that is known.
	Sources map[string]*api.JobSubmission
	// StopRun, if set, stops or kills everything that the engine runs.
	StopRun func(kill bool)
	// Linger is how long clients that follow output may take, when the server
	// ends, to read the rest of it; less than a second means that.
	Linger time.Duration
}
