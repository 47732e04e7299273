package httpapi

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/jobs"
	"taskrun/engine/httpapi/node"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec/taskenv"
)

// Ports are the ports of an agent, as clients see them.
type Ports = node.Ports

// Order is the purpose of a request with a job.
type Order = jobs.Order

// Orders whose jobs are checked.
const (
	OrderRegister = jobs.OrderRegister
	OrderPlan     = jobs.OrderPlan
	OrderValidate = jobs.OrderValidate
	OrderDispatch = jobs.OrderDispatch
)

// Config describes a server and its surroundings.
type Config struct {
	Node      *taskenv.Node // read only
	Version   string        // of taskrun
	DataDir   string        // directory of the runs
	Ports     Ports         // of an agent
	Dev       bool          // the agent was started with -dev
	Preflight jobs.Preflight
	// Keys verify the tokens of workload identities that tasks send.
	Keys *workload.Keyring
	// Sources are the sources of the jobs, by ID, if known.
	Sources map[string]*api.JobSubmission
	// HostVolumes are the static host volumes of the node, by name.
	HostVolumes map[string]*api.HostVolumeInfo
	// StopRun, if set, stops or kills everything that the engine runs.
	StopRun func(kill bool)
	// Facts describe the engine to clients of taskrun, in agent/self.
	Facts map[string]string
	// Seen, if set, is called with each request that was let in, except those of
	// tasks.
	Seen func()
	// AllowHosts are names of this machine, besides localhost, that clients may use,
	// such as host.docker.internal.
	AllowHosts []string
	// Linger is how long clients that follow output may continue to read after the
	// server ends; at least one second.
	Linger time.Duration
}
